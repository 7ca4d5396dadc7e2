import t from "tap";
import { StoreError, type StoreProblem } from "../../db/contract/store.js";
import { message, text } from "../chat/talk.js";
import { type Json, makeRoom, startLive } from "./client.js";

// What a command checks may have changed before the store writes.

void t.test("what the store refuses", async (t) => {
  const live = await startLive(t);
  const { store } = live.app;
  const room = await makeRoom(live, {
    name: "Hall",
    module_config: ["question", "poll", "chat.native"].map((type) => ({
      type,
      config: { active: true },
    })),
  });
  const ann = await live.person({ uid: "ann", traits: ["admin"] });
  const { id } = (await live.guest()).hello["user.config"];
  await ann.do("user.update", { profile: { display_name: "Ann" } });
  await ann.do("chat.join", { channel: room });

  const parts = {
    question: store.questions,
    poll: store.polls,
    chat: store.chat,
    user: store.users,
  } as unknown as Record<string, Record<string, () => Promise<unknown>>>;
  const payloads: Record<string, Json> = {
    "question.ask": { room, content: "Why?" },
    "question.vote": { room, id },
    "question.pin": { room, id },
    "poll.create": { room, content: "Which?" },
    "poll.update": { room, id },
    "poll.vote": { room, id, options: [] },
    "chat.send": message(room, text("x")),
    "chat.react": { channel: room, event: 1, reaction: "👍" },
    "user.block": { id },
  };
  const rows: [
    action: string,
    problem: StoreProblem,
    field: string | undefined,
    code: string,
  ][] = [
    ["question.ask", "denied", undefined, "protocol.denied"],
    ["question.vote", "denied", undefined, "protocol.denied"],
    ["poll.vote", "denied", undefined, "protocol.denied"],
    ["poll.vote", "denied", "poll", "poll.vote"],
    ["chat.send", "denied", undefined, "chat.denied"],
    ["question.ask", "absent", "user", "auth.denied"],
    ["poll.vote", "absent", "user", "auth.denied"],
    ["user.block", "absent", "user", "user.not_found"],
    ["question.pin", "absent", "question", "question.unknown"],
    ["question.pin", "absent", "room", "room.unknown"],
    ["poll.vote", "absent", "poll", "poll.unknown"],
    ["poll.update", "absent", "option", "protocol.invalid_payload"],
    ["poll.update", "denied", "poll_type", "protocol.invalid_payload"],
    ["poll.create", "quota", "options", "protocol.invalid_payload"],
    ["chat.send", "absent", "event", "chat.unknown_event"],
    ["chat.react", "quota", "reactions", "chat.reaction_limit"],
    ["user.block", "quota", undefined, "user.block.limit"],
    ["question.ask", "busy", undefined, "server.unavailable"],
    ["chat.send", "doubtful", undefined, "server.doubtful"],
  ];
  for (const [action, problem, field, code] of rows) {
    const [module, command] = action.split(".") as [string, string];
    const method = command === "ask" ? "create" : command;
    const part = parts[module]!;
    const original = part[method]!;
    part[method] = async () => {
      throw new StoreError(problem, "Refused.", field);
    };
    const [, , refusal] = await ann.call(action, payloads[action]);
    part[method] = original;
    const named = field === "poll_type" ? field : "options";
    const wanted =
      code === "protocol.invalid_payload"
        ? { code, details: { [named]: ["Refused."] } }
        : { code };
    t.match(refusal, wanted, `${action} ${problem} ${field}`);
  }
});
