import t from "tap";
import { asyncapiDocument } from "../../plugins/asyncapi/document.js";
import { Conversation, strictContract } from "./contract.js";

const contract = strictContract(asyncapiDocument({ version: "1.0.0" }));

const room = "5ad5b0a4-2d0c-4c63-a2a8-1c63b3f0a9d7";
const announcement = {
  id: "1",
  text: "Lunch",
  show_until: null,
  state: "active",
};

/** Frames of a server: what they answer, and what is wrong with them. */
const frames: {
  [name: string]: { frame: unknown; pending?: string; wrong?: RegExp };
} = {
  "an empty result": { frame: ["success", 1, {}], pending: "room.leave" },
  "a result of a command without an id": {
    frame: ["success", {}],
    pending: "room.leave",
  },
  "an id of any JSON": {
    frame: ["success", { a: [1] }, { room, channel: null }],
    pending: "room.create",
  },
  "a list": { frame: ["success", 1, []], pending: "room.config.list" },
  "a pong": { frame: ["pong", null], pending: "ping" },
  "a push": { frame: ["room.delete", { id: room }] },
  "a push of the name of a command": {
    frame: ["room.schedule", { room, schedule_data: null }],
  },
  "a push whose shape is a schema by name": {
    frame: ["announcement.created_or_updated", announcement],
  },
  "a refusal": {
    frame: ["error", 1, { code: "room.unknown", message: "Unknown room ID" }],
    pending: "room.enter",
  },
  "a refusal with details": {
    frame: [
      "error",
      1,
      { code: "protocol.invalid_payload", details: { "a.b": ["Bad."] } },
    ],
    pending: "room.enter",
  },
  "a refusal of a command without an id": {
    frame: ["error", { code: "room.unknown" }],
    pending: "room.enter",
  },
  "a failed login": {
    frame: ["error", { code: "auth.invalid_token" }],
    pending: "authenticate",
  },
  "a failed login with an id": {
    frame: ["error", 7, { code: "auth.invalid_token" }],
    pending: "authenticate",
  },
  "an unknown command": {
    frame: ["error", 1, { code: "protocol.unknown_command" }],
    pending: "knock.knock",
  },
  "an unknown command of a module": {
    frame: ["error", 1, { code: "room.unsupported_command" }],
    pending: "room.knock",
  },
  "an error of the connection": {
    frame: ["error", { code: "connection.replaced", message: "Replaced" }],
  },

  "a result of another command": {
    frame: ["success", 1, {}],
    pending: "room.create",
    wrong: /success\.room\.create: .*required/,
  },
  "a field more in a result": {
    frame: ["success", 1, { room, channel: null, more: 1 }],
    pending: "room.create",
    wrong: /additional/,
  },
  "an element more": {
    frame: ["success", 1, {}, 1],
    pending: "room.leave",
    wrong: /items/,
  },
  "a result without a command": {
    frame: ["success", 1, {}],
    wrong: /no answer was expected/,
  },
  "a result of no command": {
    frame: ["success", 1, {}],
    pending: "knock.knock",
    wrong: /not in the document/,
  },
  "an unknown push": {
    frame: ["room.knock", {}],
    wrong: /push\.room\.knock: not in the document/,
  },
  "a command as a push": {
    frame: ["room.enter", {}],
    wrong: /not in the document/,
  },
  "an inherited name as a push": {
    frame: ["__proto__", {}],
    wrong: /not in the document/,
  },
  "a push with other data": {
    frame: ["announcement.created_or_updated", { ...announcement, text: 1 }],
    wrong: /must be string/,
  },
  "a code of another command": {
    frame: ["error", 1, { code: "announcement.unknown" }],
    pending: "room.enter",
    wrong: /allowed values/,
  },
  "an unknown code": {
    frame: ["error", { code: "room.haunted" }],
    wrong: /allowed values/,
  },
  "a code of a command that was not sent": {
    frame: ["error", { code: "room.unknown" }],
    wrong: /allowed values/,
  },
  "a field more in an error": {
    frame: ["error", { code: "auth.timeout", stack: "at" }],
    wrong: /additional/,
  },
  "no array": { frame: { error: 1 }, wrong: /not a frame/ },
};

for (const [name, { frame, pending, wrong }] of Object.entries(frames)) {
  void t.test(`${name} ${wrong ? "fails" : "passes"}`, async (t) => {
    const check = () => contract.checkFrame(JSON.stringify(frame), pending);
    if (wrong) t.throws(check, wrong);
    else check();
  });
}

void t.test("a frame with spaces fails", async (t) => {
  t.throws(() => contract.checkFrame('[ "pong", 1]', "ping"), /not compact/);
});

/** What goes over a connection: `>` from the client, `<` from the server. */
const conversations: {
  [name: string]: { frames: string[]; wrong?: RegExp };
} = {
  "answers in order, with pushes between": {
    frames: [
      '>["ping",1]',
      '>["room.leave",1,{}]',
      '>["room.enter",2,{}]',
      '<["pong",1]',
      '<["success",1,{}]',
      '<["connection.reload",{}]',
      '<["error",2,{"code":"room.unknown"}]',
    ],
  },
  "answers of logins": {
    frames: [
      '>["authenticate",{}]',
      '<["error",{"code":"auth.missing_id_or_token"}]',
      '>["authenticate",5,{}]',
      '<["error",5,{"code":"auth.missing_id_or_token"}]',
    ],
  },
  "frames that are no commands": {
    frames: [
      ">nonsense",
      ">{}",
      ">[1,2,3]",
      '>["room.leave",1,2,3]',
      '<["error",{"code":"protocol.invalid_message"}]',
      '<["error",{"code":"protocol.invalid_message"}]',
      '<["error",2,{"code":"protocol.unknown_command"}]',
      '<["error",{"code":"protocol.invalid_message"}]',
    ],
  },
  "an error of the connection while a command waits": {
    frames: [
      '>["room.leave",{}]',
      '<["error",{"code":"connection.replaced"}]',
      '<["success",{}]',
    ],
  },
  "an answer that comes twice": {
    frames: ['>["room.leave",1,{}]', '<["success",1,{}]', '<["success",1,{}]'],
    wrong: /no answer was expected/,
  },
  "answers in another order": {
    frames: [
      '>["room.leave",1,{}]',
      '>["room.leave",2,{}]',
      '<["success",2,{}]',
    ],
    wrong: /another id/,
  },
  "an answer with an id that was not sent": {
    frames: ['>["room.leave",{}]', '<["success",{},{}]'],
    wrong: /another id/,
  },
  "a login that another command is answered with": {
    frames: ['>["room.leave",1,{}]', '<["authenticated",{}]'],
    wrong: /another command/,
  },
  "a result that a login is answered with": {
    frames: ['>["authenticate",{}]', '<["success",null,{}]'],
    wrong: /another command/,
  },
  "a result without the id of its command": {
    frames: ['>["room.leave",1,{}]', '<["success",{}]'],
    wrong: /another id/,
  },
  "an error without the id of its command": {
    frames: ['>["room.leave",1,{}]', '<["error",{"code":"room.unknown"}]'],
    wrong: /allowed values/,
  },
  "a pong with other data": {
    frames: ['>["ping",[1]]', '<["pong",[2]]'],
    wrong: /other data/,
  },
};

for (const [name, { frames, wrong }] of Object.entries(conversations)) {
  void t.test(`${name} ${wrong ? "fails" : "passes"}`, async (t) => {
    const conversation = new Conversation(contract);
    const run = () => {
      for (const line of frames) {
        const text = line.slice(1);
        if (line.startsWith(">")) conversation.sent(text);
        else conversation.received(text);
      }
    };
    if (wrong) return void t.throws(run, wrong);
    run();
    t.equal(conversation.unanswered, 0);
  });
}
