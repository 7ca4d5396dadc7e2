import type {
  Poll,
  PollChanges,
  PollState,
  PollType,
} from "../../../db/contract/polls.js";
import type { Store } from "../../../db/contract/store.js";
import { ABSENT, type Contract, fails } from "./setup.js";
import { crowd, onlyActive, persistent, SOME, voting } from "./vote-setup.js";

/** Creates a poll with the options a, b and c, which takes votes. */
async function created(
  { polls }: Store,
  room: string,
  poll_type: PollType = "multi",
  state: PollState = "open",
) {
  const options = ["a", "b", "c"].map((content) => ({ content }));
  const draft = { content: "x", options, state, poll_type };
  const poll = await polls.create("demo", room, draft);
  const [a, b, c] = poll.options.map(({ id }) => id) as [
    string,
    string,
    string,
  ];
  return { id: poll.id, a, b, c };
}

/** The results of a poll in the order of its options. */
const counts = (poll: Poll | undefined) =>
  Object.values(poll!.results).join(" ");

export async function voteContract(contract: Contract): Promise<void> {
  await contract("a vote replaces the one before", async (t, store, open) => {
    const { polls } = store;
    const { room, quiet, ada, bob } = await voting(store);
    const { id, a, b, c } = await created(store, room);
    const other = await created(store, room);
    const steps: [user: string, named: string[], chosen: string[], string][] = [
      [ada, [a], [a], "1 0 0"],
      [ada, [a], [a], "1 0 0"],
      [bob, [c, a, c, a], [a, c], "2 0 1"],
      [ada, [b, c], [b, c], "1 1 2"],
      [bob, [ABSENT, other.a, "x", b], [b], "0 2 1"],
      [ada, [], [], "0 1 0"],
      [ada, [], [], "0 1 0"],
      [ada, [other.a], [], "0 1 0"],
      [ada, [a, b, c], [a, b, c], "1 2 1"],
      [bob, [other.b, "x"], [b], "1 2 1"],
      [bob, [], [], "1 1 1"],
    ];
    const reader = (await open()).polls;
    for (const [user, named, chosen, results] of steps) {
      const name = `${results} after ${chosen.length} of ${named.length}`;
      const { poll, options } = await polls.vote("demo", room, id, user, named);
      t.strictSame(options, chosen, name);
      t.equal(counts(poll), results, name);
      t.strictSame(await reader.get("demo", room, id), poll, name);
      const ballots = chosen.length > 0 ? [{ poll: id, options: chosen }] : [];
      t.strictSame(await reader.ballots("demo", room, user), ballots, name);
    }
    await polls.vote("demo", room, other.id, ada, [other.c]);
    t.strictSame(await polls.ballots("demo", room, ada), [
      { poll: id, options: [a, b, c] },
      { poll: other.id, options: [other.c] },
    ]);
    t.strictSame(await polls.ballots("demo", quiet, ada), []);
    t.strictSame(await polls.ballots("other", room, ada), []);
    await polls.delete("demo", room, id);
    t.strictSame(await polls.ballots("demo", room, ada), [
      { poll: other.id, options: [other.c] },
    ]);
  });

  await contract("which votes a poll takes", async (t, store) => {
    const { polls } = store;
    const people = await voting(store);
    const { room, ada, bob } = people;
    const one = await created(store, room, "choice");
    const vote = (user: string, ...options: string[]) =>
      polls.vote("demo", room, one.id, user, options);
    await fails(t, vote(ada, one.a, one.b), "denied", "poll");
    t.match(await vote(ada, one.a, one.a, ABSENT), { options: [one.a] });
    t.match(await vote(ada, one.b), { options: [one.b] });
    await fails(t, vote(ada, one.a, one.b), "denied", "poll");
    t.equal(counts(await polls.get("demo", room, one.id)), "0 1 0");
    for (const state of ["draft", "closed", "archived"] as const) {
      await polls.update("demo", room, one.id, { state }, ada);
      await fails(t, vote(bob, one.a), "denied", "poll");
      await fails(t, vote(ada), "denied", "poll");
      t.equal(counts(await polls.get("demo", room, one.id)), "0 1 0", state);
    }
    await polls.update("demo", room, one.id, { state: "open" }, ada);
    await onlyActive(t, store, people, {
      vote: (user) => vote(user, one.c),
    });
    t.equal(counts(await polls.get("demo", room, one.id)), "0 1 1");
  });

  await contract("when a poll becomes a choice of one", async (t, store) => {
    const { polls } = store;
    const { room, ada, bob } = await voting(store);
    const { id, a, b } = await created(store, room);
    const change = (changes: PollChanges = {}) => {
      const all = { poll_type: "choice" as const, ...changes };
      return polls.update("demo", room, id, all, ada);
    };
    await polls.vote("demo", room, id, bob, [b]);
    await polls.vote("demo", room, id, ada, [a, b]);
    const before = await polls.get("demo", room, id);
    // Nothing of a change that is refused happens.
    const options = [{ id: a }, { id: b, content: "B" }];
    const changes = { options, content: "y", is_pinned: true };
    await fails(t, change(changes), "denied", "poll_type");
    t.strictSame(await polls.get("demo", room, id), before);
    const [ballot] = await polls.ballots("demo", room, ada);
    t.strictSame(ballot?.options, [a, b]);
    // An option that goes takes the second choices with it.
    const { after } = await change({ options: [{ id: b }] });
    t.match([after.poll_type, counts(after)], ["choice", "2"]);
    t.match(await change(), { after: { poll_type: "choice" } });
  });

  await contract("voters are read by changes", async (t, store) => {
    const { polls } = store;
    const { room, ada, bob, cy } = await voting(store);
    const { id, a, b, c } = await created(store, room);
    let seen = 0;
    /** The voters who are new since the last call, by name. */
    const told = async (since = seen) => {
      const voters = (await polls.voters("demo", room, id, since))!;
      seen = voters.changed;
      const names = new Map([ada, bob, cy].map((id, i) => [id, "abc"[i]]));
      return voters.users
        .map(({ id, voted }) => `${names.get(id)}${voted ? "+" : "-"}`)
        .sort()
        .join(" ");
    };
    const vote = (user: string, ...options: string[]) =>
      polls.vote("demo", room, id, user, options);
    const keep = (...ids: string[]) =>
      polls.update(
        "demo",
        room,
        id,
        { options: ids.map((id) => ({ id })) },
        ada,
      );
    const steps: [
      name: string,
      write: () => Promise<unknown>,
      told: string,
      all: string,
    ][] = [
      ["a vote", () => vote(ada, a), "a+", "a+"],
      ["nothing", () => vote(bob), "", "a+"],
      ["the same", () => vote(ada, a), "", "a+"],
      ["another's", () => vote(bob, a, b), "b+", "a+ b+"],
      ["another choice", () => vote(ada, b), "a+", "a+ b+"],
      ["withdrawn", () => vote(ada), "a-", "a- b+"],
      ["refused", () => vote(ABSENT, a).catch(() => {}), "", "a- b+"],
      ["again", () => vote(ada, a), "a+", "a+ b+"],
      ["a third", () => vote(cy, c), "c+", "a+ b+ c+"],
      ["an option is gone", () => keep(b, c), "a- b+", "a- b+ c+"],
      ["an option without votes", () => vote(bob, c), "b+", "a- b+ c+"],
      ["is gone", () => keep(c), "", "a- b+ c+"],
      [
        "a user is erased",
        () => store.users.erase("demo", { user_id: cy }),
        "",
        "a- b+",
      ],
      [
        "all options are replaced",
        () =>
          polls.update("demo", room, id, { options: [{ content: "d" }] }, ada),
        "b-",
        "a- b-",
      ],
    ];
    for (const [name, write, changes, all] of steps) {
      await write();
      const since = seen;
      t.equal(await told(), changes, name);
      t.equal(await told(), "", `${name}: once`);
      t.ok(seen >= since, name);
      t.equal(await told(0), all, `${name}: all`);
    }
    t.equal(counts(await polls.get("demo", room, id)), "0");
  });

  await contract("closing a poll freezes its results", async (t, store) => {
    const { polls } = store;
    const { room, ada, bob, cy } = await voting(store);
    const { id, a, b, c } = await created(store, room);
    const update = async (changes: Parameters<typeof polls.update>[3]) =>
      (await polls.update("demo", room, id, changes, ada)).after.results;
    const vote = (user: string, ...options: string[]) =>
      polls.vote("demo", room, id, user, options);
    await vote(ada, a);
    await vote(bob, a, b);
    await vote(cy, c);
    const frozen = { [a]: 2, [b]: 1, [c]: 1 };
    t.strictSame(await update({ state: "closed" }), frozen);
    const still: [name: string, write: () => Promise<unknown>][] = [
      ["a vote", () => vote(cy, a).catch(() => {})],
      ["erasure", () => store.users.erase("demo", { user_id: cy })],
      [
        "an option is edited",
        () =>
          update({ options: [{ id: a, content: "A" }, { id: b }, { id: c }] }),
      ],
      ["options go", () => update({ options: [{ id: c }] })],
      [
        "an option comes",
        () => update({ options: [{ id: c }, { content: "d" }] }),
      ],
      ["closed again", () => update({ state: "closed" })],
      ["archived", () => update({ state: "archived", content: "y" })],
      ["closed once more", () => update({ state: "closed", is_pinned: true })],
      ["pinned", () => polls.pin("demo", room, id, ada)],
    ];
    for (const [name, write] of still) {
      await write();
      const poll = await polls.get("demo", room, id);
      t.strictSame(poll?.results, frozen, name);
      t.strictSame(
        (await polls.list("demo", room, { limit: 9 }))[0],
        poll,
        name,
      );
    }
    const { options } = (await polls.get("demo", room, id))!;
    const [, d] = options.map(({ id }) => id) as [string, string];
    const thawed = await update({ state: "open" });
    t.strictSame(
      thawed,
      { [c]: 1, [d]: 0 },
      "with the vote of the erased user",
    );
    t.match(await vote(bob, d), { poll: { results: { [c]: 1, [d]: 1 } } });
    t.strictSame(
      await update({ state: "archived", options: [{ id: d }] }),
      { [d]: 1 },
      "after the options of the same update",
    );
    t.strictSame(await update({ state: "draft" }), { [d]: 1 });
    t.strictSame(await update({ state: "closed" }), { [d]: 1 });
  });

  await contract("each user has one ballot", async (t, store, open) => {
    const { polls } = store;
    const { room, ada } = await voting(store);
    const other = (await open()).polls;
    const users = await crowd(store, 10 * SOME);
    const { id, a, b, c } = await created(store, room, "choice");
    const now = () => polls.get("demo", room, id);
    /** Votes of all at once through both stores, each a few times. */
    const rush = (of: string[], ...choices: (string | undefined)[]) =>
      Promise.all(
        of.flatMap((user) =>
          choices.map((option, i) =>
            persistent(() =>
              (i % 2 ? other : polls).vote(
                "demo",
                room,
                id,
                user,
                option === undefined ? [] : [option],
              ),
            ),
          ),
        ),
      );
    await rush(users, a, b, a);
    const sum = Object.values((await now())!.results).reduce((x, y) => x + y);
    t.equal(sum, 10 * SOME, "each counts once, whatever came last");
    await rush(users, a);
    t.equal(counts(await now()), `${10 * SOME} 0 0`);
    await rush(users.slice(0, 3 * SOME), b);
    t.equal(counts(await now()), `${7 * SOME} ${3 * SOME} 0`);
    await rush(users.slice(SOME, 2 * SOME), undefined);
    t.equal(counts(await now()), `${7 * SOME} ${2 * SOME} 0`, "withdrawn");
    const voters = (await polls.voters("demo", room, id, 0))!;
    t.equal(voters.users.length, 10 * SOME);
    t.equal(voters.users.filter(({ voted }) => voted).length, 9 * SOME);
    t.equal(new Set(voters.users.map(({ id }) => id)).size, 10 * SOME);
    await rush(users.slice(-10), c);
    const since = await other.voters("demo", room, id, voters.changed);
    t.strictSame(
      since!.users.map(({ id }) => id).sort(),
      users.slice(-10).sort(),
    );
    const kept = `${7 * SOME - 10} ${2 * SOME} 10`;
    const [erased] = users as [string];
    await store.users.erase("demo", { user_id: erased });
    t.equal(counts(await now()), kept);
    t.equal(
      (await polls.voters("demo", room, id, 0))!.users.length,
      10 * SOME - 1,
      "votes do not name their users",
    );
    await polls.update("demo", room, id, { state: "closed" }, ada);
    const late = await Promise.allSettled(
      users
        .slice(1, SOME / 2)
        .map((user) => polls.vote("demo", room, id, user, [a])),
    );
    t.ok(late.every(({ status }) => status === "rejected"));
    t.equal(counts(await now()), kept);
  });
}
