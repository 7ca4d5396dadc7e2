import t, { type Test } from "tap";
import { WebSocket } from "ws";
import {
  Foyer,
  Live,
  type ListedPoll,
  type ListedQuestion,
  type SocketClass,
} from "../../client/index.js";
import { type ServerProcess, startFoyer, until } from "../helper.js";
import { shortFolder, signer } from "./person.js";

/** Somebody who looks at the questions and polls of a room. */
interface Spectator {
  live: Live;
  /** All that the server ever sent. */
  frames: string[];
  /** Every list of polls that the iteration gave. */
  polls: (readonly ListedPoll[])[];
  /** The questions as they are known. */
  questions: () => string[];
  poll: () => ListedPoll | undefined;
}

/** A question in one line: its text, its state and its score. */
const lineOf = ({
  content,
  state,
  score,
  voted,
  answered,
  is_pinned,
}: ListedQuestion): string =>
  [
    content,
    state,
    score,
    ...(voted ? ["voted"] : []),
    ...(answered ? ["answered"] : []),
    ...(is_pinned ? ["pinned"] : []),
  ].join(" ");

function spectator(
  t: Test,
  address: string,
  token: string,
  room: string,
): Spectator {
  const frames: string[] = [];
  class Recorder extends WebSocket {
    constructor(url: string) {
      super(url, { allowSynchronousEvents: false });
      this.on("message", (data: Buffer) => frames.push(data.toString()));
    }
  }
  const live = new Live({
    ...{ baseUrl: address, world: "sample", token },
    ...{ retryDelay: 20, maxRetryDelay: 200 },
    WebSocket: Recorder as unknown as SocketClass,
  });
  const questions = live.questions(room);
  const polls: Spectator["polls"] = [];
  const follow = async () => {
    for await (const list of questions) t.ok(list);
  };
  const followPolls = async () => {
    for await (const list of live.polls(room)) polls.push(list);
  };
  const ends = [follow(), followPolls()];
  t.teardown(async () => {
    live.close();
    // None of them may have failed.
    await Promise.all(ends);
  });
  return {
    live,
    frames,
    polls,
    questions: () => (questions.current ?? []).map(lineOf),
    poll: () => polls.at(-1)?.[0],
  };
}

void t.test("a question round and a poll, with a restart", async (t) => {
  const dataDir = shortFolder(t);
  let server: ServerProcess = await startFoyer(t, dataDir, ["--demo"]);
  const sign = await signer(dataDir);
  const foyer = new Foyer({
    ...{ baseUrl: server.address, world: "sample" },
    token: sign("root", "admin", "api").token,
  });
  const { id: room } = await foyer.createRoom({
    name: "Stage",
    module_config: [
      { type: "question", config: { active: true } },
      { type: "poll", config: { active: true } },
    ],
  });
  const [moderator, ada, ben, cyd] = (
    [["moderator", "admin"], ["ada"], ["ben"], ["cyd"]] as const
  ).map(([uid, ...traits]) =>
    spectator(t, server.address, sign(uid, ...traits).token, room),
  ) as [Spectator, Spectator, Spectator, Spectator];
  const everybody = [moderator, ada, ben, cyd];
  const attendees = [ada, ben, cyd];
  const questionsOf = ({ live }: Spectator) => live.questions(room);
  const pollsOf = ({ live }: Spectator) => live.polls(room);

  /** Waits until somebody sees these questions. */
  const asks = async (one: Spectator, ...lines: string[]) => {
    await until(() => one.questions().join() === lines.join()).catch(() => {});
    t.same(one.questions(), lines);
  };
  /** Waits until somebody sees the poll so. */
  const polled = async (one: Spectator, expected: unknown) => {
    const seen = () => {
      const { state, results, answers } = one.poll() ?? {};
      return state && { state, results: countsOf(results), answers };
    };
    const text = JSON.stringify(expected);
    await until(() => JSON.stringify(seen()) === text).catch(() => {});
    t.equal(JSON.stringify(seen()), text);
  };
  const countsOf = (results: ListedPoll["results"]) =>
    results && Object.values(results);

  for (const one of everybody) {
    await until(() => questionsOf(one).current !== undefined);
    await until(() => one.polls.length > 0);
  }

  // Ask, queue, admit.
  const a = await questionsOf(ada).ask("A?");
  const b = await questionsOf(ben).ask("B?");
  t.equal(a.state, "mod_queue");
  await asks(moderator, "A? mod_queue 0", "B? mod_queue 0");
  await asks(ada, "A? mod_queue 0");
  await asks(ben, "B? mod_queue 0");
  for (const { id } of [a, b]) {
    await questionsOf(moderator).update(id, { state: "visible" });
  }
  for (const one of everybody) await asks(one, "A? visible 0", "B? visible 0");
  t.notOk(cyd.frames.some((frame) => frame.includes("mod_queue")));

  // Vote.
  await questionsOf(ben).vote(a.id);
  await questionsOf(cyd).vote(a.id);
  await asks(ada, "A? visible 2", "B? visible 0");
  await asks(cyd, "A? visible 2 voted", "B? visible 0");

  // Draft, open, vote, change.
  const options = ["Tea", "Coffee"].map((content) => ({ content }));
  const draft = await pollsOf(moderator).create({ content: "What?", options });
  const [tea, coffee] = draft.options.map(({ id }) => id) as [string, string];
  await polled(moderator, { state: "draft", results: [0, 0] });
  await pollsOf(moderator).open(draft.id);
  for (const one of attendees) await polled(one, { state: "open" });
  await pollsOf(ada).vote(draft.id, tea);
  await pollsOf(ben).vote(draft.id, tea);
  await pollsOf(ben).vote(draft.id, coffee);
  await polled(ada, { state: "open", results: [1, 1], answers: [tea] });
  await polled(ben, { state: "open", results: [1, 1], answers: [coffee] });
  await polled(moderator, { state: "open", results: [1, 1] });

  // What is called for during the restart waits for the new server.
  server.signal("SIGTERM");
  await server.finished;
  await until(() => !cyd.live.isConnected && !ada.live.isConnected);
  const changed = [
    questionsOf(cyd).vote(a.id, false),
    questionsOf(cyd).vote(b.id),
    pollsOf(ada).withdraw(draft.id),
    questionsOf(moderator).pin(b.id),
  ];
  server = await startFoyer(t, dataDir, [], { PORT: String(server.port) });
  await Promise.all(changed);
  await asks(moderator, "A? visible 1", "B? visible 1 pinned");
  await asks(ada, "A? visible 1", "B? visible 1 pinned");
  await asks(ben, "A? visible 1 voted", "B? visible 1 pinned");
  await asks(cyd, "A? visible 1", "B? visible 1 voted pinned");
  await polled(ada, { state: "open" });
  await polled(ben, { state: "open", results: [0, 1], answers: [coffee] });
  await polled(cyd, { state: "open" });
  await polled(moderator, { state: "open", results: [0, 1] });

  // Who did not vote has seen no results so far, in no frame and in no list.
  t.notOk(cyd.frames.some((frame) => frame.includes('"results"')));
  t.notOk(cyd.polls.flat().some(({ results }) => results));

  // Answer, archive.
  await questionsOf(moderator).update(a.id, { answered: true });
  await questionsOf(moderator).update(a.id, { state: "archived" });
  await asks(ben, "B? visible 1 pinned");
  await asks(cyd, "B? visible 1 voted pinned");
  await asks(ada, "A? archived 1 answered", "B? visible 1 pinned");
  await asks(moderator, "A? archived 1 answered", "B? visible 1 pinned");

  // Close, open again, close, archive.
  const frozen = { state: "closed", results: [0, 1] };
  await pollsOf(moderator).close(draft.id);
  for (const one of [moderator, ada, cyd]) await polled(one, frozen);
  await polled(ben, { ...frozen, answers: [coffee] });
  await pollsOf(moderator).open(draft.id);
  await polled(cyd, { state: "open" });
  await polled(ada, { state: "open" });
  await polled(ben, { state: "open", results: [0, 1], answers: [coffee] });
  await pollsOf(cyd).vote(draft.id, tea);
  await polled(cyd, { state: "open", results: [1, 1], answers: [tea] });
  await pollsOf(moderator).archive(draft.id);
  await polled(moderator, { state: "archived", results: [1, 1] });
  for (const one of attendees) await polled(one, undefined);

  // What they see is what the server lists.
  for (const { live } of everybody) {
    const questions = await live.call("question.list", { room });
    t.same(live.questions(room).current, questions);
    t.same(live.polls(room).current, await live.call("poll.list", { room }));
  }
});
