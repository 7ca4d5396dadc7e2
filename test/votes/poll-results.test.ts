import t, { type Test } from "tap";
import type { Client, Frame, Json } from "../live/client.js";
import { byTrait, countsOf, keys, POLL, startVotes } from "./kit.js";

// Sections 4.7 and 10, F14: who may not see results gets none, in whatever frame.

/** Every poll in a frame, however deep. */
function* pollsIn(value: Json): Generator<Json> {
  if (typeof value !== "object" || value === null) return;
  if ("options" in value && "state" in value) yield value;
  for (const inner of Object.values(value)) yield* pollsIn(inner);
}

void t.test("F14 who sees results, through a whole poll", async (t) => {
  const votes = await startVotes(t);
  const host = await votes.host();
  const [read, vote] = ["poll.read", "poll.vote"];
  const room = await votes.room({ rules: byTrait });
  const entered = (uid: string, ...traits: string[]) =>
    votes.entered(room, uid, traits);
  const quiet = ["quiet", read, vote] as const;
  const { id: silenced } = await votes.person("quiet", [read, vote]);
  await host.do("user.silence", { id: silenced });
  const people: Record<string, Client> = {
    manager: await entered("manager", read, "poll.manage"),
    early: await entered("early", read, "poll.results"),
    voter: await entered("voter", read, vote),
    voter2: await entered("voter", read, vote),
    voterOutside: await votes.person("voter", [read, vote]),
    reader: await entered("reader", read, vote),
    outside: await votes.person("outside", [read, vote]),
    lister: await entered("lister", read, vote),
    withdrawn: await entered("withdrawn", read, vote),
    withdrawn2: await entered("withdrawn", read, vote),
    foreign: await entered("foreign", read, vote),
    silenced: await entered(...quiet),
    nobody: await entered("nobody"),
  };
  const outsider = await votes.person("elsewhere", [read, vote, "poll.manage"]);
  await outsider.do("room.enter", { room: await votes.room() });
  people.elsewhere = outsider;
  /** What came to each of them in each step. */
  const recorded: { who: string; step: string; frames: Frame[] }[] = [];

  /** Who must see results whenever they hear of the poll in a step. */
  const always = ["manager", "early"];
  const voters = ["voter", "voter2", "voterOutside"];
  const withdrawing = ["withdrawn", "withdrawn2"];
  const everybody = Object.keys(people);

  /** Does something, and takes what comes with it. @returns what each heard. */
  const step = async (
    t: Test,
    name: string,
    /** Whose frames may have results. */
    may: string[],
    /** The counts that come last. */
    counts: number[] | undefined,
    act: () => Promise<unknown>,
  ) => {
    await act();
    const isLast = ({ poll }: Json) =>
      counts === undefined || countsOf(poll)?.join() === counts.join();
    // The pushes of a step leave together, so this is when the others have theirs.
    await people.manager!.next("poll.created_or_updated", isLast);
    for (const one of ["lister", "silenced"]) {
      people[one]!.sendFrame("poll.list", name, { room });
    }
    for (const who of everybody) {
      await votes.live.settled();
      const frames = await people[who]!.all();
      recorded.push({ who, step: name, frames });
      if (may.includes(who)) continue;
      for (const poll of frames.flatMap((frame) => [...pollsIn(frame)])) {
        t.notOk("results" in poll, `${name}: ${who}`);
      }
      const text = JSON.stringify(frames);
      t.notOk(text.includes('"results"'), `${name}: ${who}, in no frame`);
    }
  };

  let poll: Json;
  const set = (changes: object) => () =>
    host.do("poll.update", { room, id: poll.id, ...changes });
  const cast =
    (who: string, ...places: number[]) =>
    () =>
      votes.vote(people[who]!, poll, ...places);

  await step(t, "draft", always, [0, 0, 0], async () => {
    poll = await votes.poll(room, { state: "draft" });
  });
  await step(t, "draft edited", always, [0, 0, 0], set({ content: "Well?" }));
  await step(t, "open", always, [0, 0, 0], set({ state: "open" }));
  const one = [...always, ...voters];
  await step(t, "vote", one, [1, 0, 0], cast("voter", 0));
  const two = [...one, ...withdrawing];
  await step(t, "another vote", two, [1, 1, 0], cast("withdrawn", 1));
  await step(t, "edited while open", two, [1, 1, 0], set({ content: "So?" }));
  await step(t, "changed", two, [0, 1, 1], cast("voter", 2));
  await step(t, "changed outside", two, [1, 1, 0], cast("voterOutside", 0));
  await step(t, "withdrawn", one, [1, 0, 0], cast("withdrawn"));
  await step(t, "no vote", one, undefined, async () => {
    const options = [(await votes.poll(room)).options[0].id];
    const payload = { room, id: poll.id, options };
    const { poll: answer } = await people.foreign!.do("poll.vote", payload);
    t.same(keys(answer), POLL, "foreign ids are no vote");
    const push = await people.foreign!.next(
      "poll.created_or_updated",
      (data) => data.poll.id === poll.id,
    );
    t.same(keys(push.poll), POLL, "nor do they show results");
    t.equal(
      await people.silenced!.code("poll.vote", payload),
      "protocol.denied",
    );
    t.equal(await people.nobody!.code("poll.vote", payload), "protocol.denied");
  });
  await step(t, "changed again", one, [0, 1, 0], cast("voter", 1));
  await step(t, "pinned", one, [0, 1, 0], set({ is_pinned: true }));
  const readers = everybody.filter(
    (name) =>
      !["outside", "voterOutside", "nobody", "elsewhere"].includes(name),
  );
  await step(t, "closed", readers, [0, 1, 0], set({ state: "closed" }));
  await step(t, "archived", readers, [0, 1, 0], set({ state: "archived" }));
  await step(t, "open again", one, [0, 1, 0], set({ state: "open" }));
  await step(t, "vote again", one, [0, 0, 1], cast("voter", 2));
  await step(t, "draft again", one, [0, 0, 1], set({ state: "draft" }));

  const framesOf = (who: string, name?: string): Frame[] =>
    recorded
      .filter(
        (one) => one.who === who && (name === undefined || one.step === name),
      )
      .flatMap(({ frames }) => frames);
  /** The counts that somebody heard of in a step, each push for itself. */
  const heard = (who: string, name: string): Json[] =>
    framesOf(who, name)
      .filter(([push]) => push === "poll.created_or_updated")
      .map(([, { poll }]: Json) => countsOf(poll)?.join() ?? "none");
  const wanted: [step: string, Record<string, string[]>][] = [
    ["draft", {}],
    ["open", { reader: ["none"], early: ["0,0,0"], silenced: ["none"] }],
    [
      "vote",
      {
        voter: ["1,0,0"],
        voter2: ["1,0,0"],
        early: ["1,0,0"],
      },
    ],
    ["changed", { voter: ["0,1,1"], voter2: ["0,1,1"], withdrawn: ["0,1,1"] }],
    ["changed outside", { voter: ["1,1,0"], voterOutside: ["1,1,0"] }],
    ["withdrawn", { withdrawn: ["none"], withdrawn2: ["none"] }],
    ["changed again", { voter: ["0,1,0"], withdrawn: [], foreign: [] }],
    [
      "closed",
      Object.fromEntries(
        ["reader", "lister", "withdrawn", "foreign", "silenced", "voter"].map(
          (name) => [name, ["0,1,0"]],
        ),
      ),
    ],
    ["archived", { reader: ["0,1,0"], voter2: ["0,1,0"] }],
    ["open again", { reader: ["none"], voter: ["0,1,0"], early: ["0,1,0"] }],
    ["vote again", { reader: [], withdrawn: [], voter2: ["0,0,1"] }],
    ["draft again", { reader: ["none"], voter: ["0,0,1"], nobody: [] }],
  ];
  for (const [name, rows] of wanted) {
    for (const [who, counts] of Object.entries(rows)) {
      t.same(heard(who, name), counts, `${name}, to ${who}`);
    }
  }

  /** What a list said in a step. */
  const listed = (who: string, name: string): Json =>
    framesOf(who, name).find(([kind, id]) => kind === "success" && id === name);
  for (const who of ["lister", "silenced"]) {
    const own = (name: string): Json => {
      const [, , list] = listed(who, name);
      return list.find(({ id }: Json) => id === poll.id);
    };
    t.same(own("draft"), undefined, who);
    t.same(keys(own("vote")), POLL, who);
    t.equal(countsOf(own("closed"))?.join(), "0,1,0", who);
    t.same(own("archived"), undefined, "only open and closed ones");
    t.same(keys(own("vote again")), POLL, who);
    t.same(own("draft again"), undefined, who);
  }
  for (const who of ["nobody", "elsewhere", "outside"]) {
    const frames = framesOf(who);
    const pushes = frames.filter(([name]) => name.startsWith("poll."));
    t.same(pushes, [], `${who} hears nothing`);
  }
});
