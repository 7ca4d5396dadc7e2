import type { Corrupt } from "./corrupting-proxy.js";

/** A server that does nothing wrong. */
export const asIs: Corrupt = ({ text }) => [text];

/**
 * Leaves a viewer out of a moderator's second list, and pushes them when the client waits, as
 * a node does that waited too long for another.
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

/** Holds back the answer to a vote until its push has passed. */
function swapping(): Corrupt {
  let held: string[] = [];
  return ({ name, command, to, text }) => {
    if (to !== "me" || command !== "question.vote") return [text];
    if (name === "success") held = [text];
    return name === "success" ? [] : [text, ...held.splice(0)];
  };
}

/** What a server may do wrong in the row of question.vote, and how the report names it. */
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
