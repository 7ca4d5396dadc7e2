import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { type RawData, WebSocket, WebSocketServer } from "ws";

/** Simulates a server without faults. */
export const asIs: Corrupt = ({ text }) => [text];

/**
 * Omits a viewer from a moderator's second list, and pushes the viewer before the next pong, like a
 * node that waited too long for another.
 */
export function namingLate(): Corrupt {
  let lists = 0;
  let late: unknown;
  return ({ name, command, to, frame, text, send }) => {
    if (to !== "moderator") return [text];
    if (name === "success" && command === "room.enter" && ++lists === 2) {
      late = (frame[2] as { viewers: unknown[] }).viewers.pop();
      return [JSON.stringify(frame)];
    }
    if (name === "pong" && late !== undefined) {
      send(to, JSON.stringify(["room.viewer.added", { user: late }]));
      late = undefined;
    }
    return [text];
  };
}

/** Holds back the answer to a vote until the vote's push has been sent. */
function swapping(): Corrupt {
  let held: string[] = [];
  return ({ name, command, to, text }) => {
    if (to !== "me" || command !== "question.vote") return [text];
    if (name === "success") held = [text];
    return name === "success" ? [] : [text, ...held.splice(0)];
  };
}

/** Possible faults of a server in the row of question.vote, and how the report describes them. */
export const corruptions: Record<string, { corrupt: Corrupt; says: RegExp }> = {
  "a push is lost": {
    corrupt: ({ name, to, text }) =>
      name === "question.created_or_updated" && to === "neighbor" ? [] : [text],
    says: /neighbor: gets \[\], not \[question.created_or_updated\]/,
  },
  "a push comes twice": {
    corrupt: ({ name, to, text }) =>
      name === "question.created_or_updated" && to === "silenced" ? [text, text] : [text],
    says: /silenced: gets \[\["question.*\["question.*\], not \[question/,
  },
  "a push goes to an outsider": {
    corrupt: ({ name, to, text, send }) => {
      if (name === "question.created_or_updated" && to === "moderator") {
        send("outsider", text);
      }
      return [text];
    },
    says: /outsider: gets \[\["question.created_or_updated".*\], not \[\]/,
  },
  "a push has another value": {
    corrupt: ({ name, to, text }) =>
      name === "question.created_or_updated" && to === "me"
        ? [text.replace('"score":1', '"score":2')]
        : [text],
    says: /me: question.created_or_updated: question.score is 2, not 1/,
  },
  "an answer has another value": {
    corrupt: ({ name, command, text }) =>
      name === "success" && command === "question.vote"
        ? [text.replace('"score":1', '"score":0')]
        : [text],
    says: /me: the answer: question.score is 0, not 1/,
  },
  "an answer comes after its push": {
    corrupt: swapping(),
    says: /me: \["question.created_or_updated",.*score":1/,
  },
  "an error comes unasked": {
    corrupt: ({ name, to, text }) =>
      name === "question.created_or_updated" && to === "neighbor"
        ? [text, '["error",{"code":"server.fatal"}]']
        : [text],
    says: /neighbor: gets \[\["error",.*server.fatal.*\], not \[\]/,
  },
  "a refusal has another code": {
    corrupt: ({ name, command, to, text }) =>
      name === "error" && command === "question.vote" && to === "outsider"
        ? [text.replace("protocol.denied", "room.unknown")]
        : [text],
    says: /outsider: is answered .*room.unknown.*, not protocol.denied/,
  },
  "a refusal says what is there": {
    corrupt: ({ name, command, to, text }) =>
      name === "error" && command === "question.vote" && to === "outsider"
        ? [text.replace("Permission denied.", "No conformance-secret for you")]
        : [text],
    says: /outsider: is shown .*conformance-secret/,
  },
  "a person without the right may": {
    corrupt: ({ name, command, to, frame, text }) =>
      name === "error" && command === "question.vote" && to === "silenced"
        ? [JSON.stringify(["success", frame[1], {}])]
        : [text],
    says: /silenced: is answered {}, not protocol.denied/,
  },
  "a person with the right may not": {
    corrupt: ({ name, command, to, frame, text }) =>
      name === "success" && command === "question.vote" && to === "neighbor"
        ? [JSON.stringify(["error", frame[1], { code: "protocol.denied" }])]
        : [text],
    says: /neighbor: gets protocol.denied/,
  },
  "a banned user may log in": {
    corrupt: ({ name, to, text }) =>
      name === "error" && to === "banned" && text.includes("auth.denied")
        ? ['["authenticated",{"user.config":{}}]']
        : [text],
    says: /banned: may log in/,
  },
  "a login knows less than the pushes told": {
    corrupt: ({ command, to, text }) =>
      command === "question.list" && to === "moderator"
        ? [text.replace('"score":1', '"score":0')]
        : [text],
    says: /moderator: by its pushes, questions.0.score is 1, not 0/,
  },
};

/** A frame from the server, and its recipient. */
interface Passing {
  name: string;
  /** The frame as parsed JSON, and as text. */
  frame: [string, ...unknown[]];
  text: string;
  /** The audience whose token the connection used to log in; `stranger` if none. */
  to: string;
  /** The last command sent over the connection. */
  command: string;
  /** Sends a text to all connections of an audience. */
  readonly send: (audience: string, text: string) => void;
}

/** @returns the texts that the client receives instead of a frame. */
export type Corrupt = (passing: Passing) => readonly string[];

interface Line {
  readonly socket: WebSocket;
  to: string;
  command: string;
}

/** Extracts the audience from a token of the suite: the part after the last dash of its uid. */
function audienceOf(text: string): string | undefined {
  const [action, payload] = JSON.parse(text) as [string, { token: string }];
  if (action !== "authenticate") return undefined;
  const claims = Buffer.from(payload.token.split(".")[1]!, "base64url");
  const { uid } = JSON.parse(claims.toString()) as { uid: string };
  return uid.split("-").at(-1)!;
}

/**
 * Starts a proxy that corrupts what a server sends over websockets. It ends with the test.
 * @param port the server's port.
 * @param busy the number of requests to answer with 429 before the first one passes.
 * @returns the proxy's address.
 */
export async function startCorrupting(
  t: Test,
  port: number,
  corrupt: Corrupt,
  busy = 0,
): Promise<string> {
  const lines = new Set<Line>();
  const send = (audience: string, text: string) => {
    for (const { to, socket } of lines) if (to === audience) socket.send(text);
  };

  const join = (socket: WebSocket, path: string): void => {
    const upstream = new WebSocket(`ws://127.0.0.1:${port}${path}`);
    const line: Line = { socket, to: "stranger", command: "" };
    lines.add(line);
    const waiting: string[] = [];
    upstream.on("open", () => waiting.forEach((text) => upstream.send(text)));
    socket.on("message", (data) => {
      const text = textOf(data);
      line.to = audienceOf(text) ?? line.to;
      line.command = (JSON.parse(text) as [string])[0];
      if (upstream.readyState === WebSocket.OPEN) upstream.send(text);
      else waiting.push(text);
    });
    upstream.on("message", (data) => {
      const text = textOf(data);
      const frame = JSON.parse(text) as Passing["frame"];
      const passing = { ...line, name: frame[0], frame, text, send };
      for (const out of corrupt(passing)) socket.send(out);
    });
    const end = () => {
      lines.delete(line);
      socket.terminate();
      upstream.terminate();
    };
    for (const side of [socket, upstream]) {
      side.on("close", end);
      side.on("error", end);
    }
  };

  const sockets = new WebSocketServer({ noServer: true });
  // A busy machine may be slow to notice that the server has closed an idle connection.
  const options = { keepAliveTimeout: 600_000 };
  const server = createServer(options, (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    if (busy-- > 0) {
      outgoing.writeHead(429, { "retry-after": "1" }).end();
      return;
    }
    const passed = request({ port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  server.on("upgrade", (incoming, socket, head) => {
    sockets.handleUpgrade(incoming, socket, head, (accepted) => join(accepted, incoming.url!));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  t.teardown(() => {
    for (const { socket } of lines) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const textOf = (data: RawData): string => (data as Buffer).toString();
