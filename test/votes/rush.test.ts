import t from "tap";
import type { Client, Frame, Json } from "../live/client.js";
import { countsOf, type Kind, startVotes } from "./kit.js";

// Section A13: under a rush of votes, what they come to is pushed at most four times a
// second, and the last push has the final state.

/** The pushes about one question or poll, with when each came. */
function pushesTo(client: Client, kind: Kind, id: string) {
  const pushes: { at: number; data: Json }[] = [];
  client.ws.on("message", (bytes) => {
    const [name, data] = JSON.parse((bytes as Buffer).toString()) as Frame;
    if (name !== `${kind}.created_or_updated`) return;
    const pushed = (data as Json)[kind];
    if (pushed.id === id) pushes.push({ at: performance.now(), data: pushed });
  });
  return pushes;
}

void t.test("A13 a rush of votes", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const crowd = await Promise.all(
    Array.from({ length: 80 }, () => live.guest()),
  );

  /** The most pushes from a moment to the last one. One more is allowed, as frames may be late. */
  const allowed = (begin: number, pushes: { at: number }[]) =>
    2 + ((pushes.at(-1)!.at - begin) / 1000) * 4;

  await t.test("10 poll.vote", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room, { poll_type: "multi" });
    const other = await votes.poll(room);
    const observers = {
      manager: await votes.entered(room, "manager", ["admin"]),
      voter: await votes.entered(room, "voter"),
      early: await votes.entered(room, "early", ["early"]),
    };
    await live.app.store.rooms.update("demo", room, {
      permission_config: { "poll.results": [["early", "admin"]] },
    });
    const reader = await votes.entered(room, "reader");
    await votes.vote(observers.voter, poll, 2);
    await observers.manager.next("poll.created_or_updated");
    const heard = Object.entries(observers).map(([name, client]) => ({
      name,
      client,
      pushes: pushesTo(client, "poll", poll.id),
    }));
    const inside = crowd.filter((_, i) => i % 2 === 0);
    await Promise.all(inside.map((one) => one.do("room.enter", { room })));
    const ofCrowd = crowd.map((one) => pushesTo(one, "poll", poll.id));
    const unheard = pushesTo(reader, "poll", poll.id);
    const ofOther = pushesTo(observers.manager, "poll", other.id);
    const begin = performance.now();
    await Promise.all(
      crowd.map(async (client, i) => {
        await votes.vote(client, poll, 0);
        await votes.vote(client, poll, 0, 1);
        await votes.vote(client, poll, 1);
        await votes.vote(client, poll, i % 2, 2);
        if (i % 4 === 0) await votes.vote(client, other, 0);
      }),
    );
    const final = "40,40,81";
    for (const { name, client, pushes } of heard) {
      await client.next(
        "poll.created_or_updated",
        (data) =>
          data.poll.id === poll.id && countsOf(data.poll)?.join() === final,
      );
      const counts = pushes.map(({ data }) => countsOf(data)?.join());
      const most = allowed(begin, pushes);
      t.ok(pushes.length <= most, `${name}: ${pushes.length} of ${most}`);
      t.equal(counts.at(-1), final, name);
    }
    await observers.manager.next(
      "poll.created_or_updated",
      ({ poll }) => poll.id === other.id && countsOf(poll)?.[0] === 20,
    );
    const most = allowed(begin, ofOther);
    t.ok(ofOther.length <= most, `another poll: ${ofOther.length} of ${most}`);
    const hears = (client: Client, wanted?: string) =>
      client.next("poll.created_or_updated", (data) => {
        const counts = countsOf(data.poll)?.join();
        return data.poll.id === poll.id && (!wanted || counts === wanted);
      });
    await Promise.all(inside.map((one) => hears(one, final)));
    await Promise.all(
      crowd.filter((_, i) => i % 2 === 1).map((one) => hears(one)),
    );
    const tooMany = ofCrowd.filter(
      (pushes) => pushes.length > allowed(begin, pushes),
    );
    t.same(tooMany, [], "whoever votes is pushed no more than that");
    t.same(unheard, [], "a reader who did not vote hears nothing");
    const now = await votes.pollNow(room, poll.id);
    t.same(countsOf(now)!.join(), final);
  });

  await t.test("9 question.vote", async (t) => {
    const room = await votes.room();
    const { id } = await votes.question(room);
    const other = await votes.question(room);
    const reader = await votes.entered(room, "reader");
    const pushes = pushesTo(reader, "question", id);
    const ofOther = pushesTo(reader, "question", other.id);
    const begin = performance.now();
    const cast = (client: Client, of: string, vote: boolean) =>
      client.do("question.vote", { room, id: of, vote });
    await Promise.all(
      crowd.map(async (client, i) => {
        await cast(client, id, true);
        await cast(client, id, false);
        await cast(client, id, true);
        if (i % 8 === 0) await cast(client, id, false);
        if (i % 4 === 0) await cast(client, other.id, true);
      }),
    );
    const hears = (of: string, score: number) =>
      reader.next(
        "question.created_or_updated",
        ({ question }) => question.id === of && question.score === score,
      );
    await Promise.all([hears(id, 70), hears(other.id, 20)]);
    for (const [name, those] of Object.entries({ pushes, ofOther })) {
      const most = allowed(begin, those);
      t.ok(those.length <= most, `${name}: ${those.length} of ${most}`);
    }
    await live.settled();
    await reader.all();
    t.equal(pushes.at(-1)!.data.score, 70, "the final state comes last");
    t.match(await votes.questionNow(room, id), { score: 70 });
  });

  /** Waits until every push has come that was due for votes before. */
  const passed = async (kind: Kind, room: string, observer: Client) => {
    const fence =
      kind === "poll" ? await votes.poll(room) : await votes.question(room);
    for (const place of [0, 1]) {
      const client = crowd[place]!;
      if (kind === "poll") await votes.vote(client, fence, 0);
      else await client.do("question.vote", { room, id: fence.id });
      const now = (data: Json): number =>
        kind === "poll" ? countsOf(data.poll)![0]! : data.question.score;
      // The second one waits as long as any push does.
      await observer.next(
        `${kind}.created_or_updated`,
        (data) => data[kind].id === fence.id && now(data) === place + 1,
      );
    }
  };

  await t.test("10 closing during a rush has the last word", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const reader = await votes.entered(room, "reader");
    const manager = await votes.entered(room, "manager", ["admin"]);
    const pushes = pushesTo(manager, "poll", poll.id);
    const options = [poll.options[0].id];
    const payload = { room, id: poll.id, options };
    const rush = Promise.all(
      crowd.map((client) => client.code("poll.vote", payload)),
    );
    const host = await votes.host();
    await host.do("poll.update", { room, id: poll.id, state: "closed" });
    const codes = await rush;
    const accepted = codes.filter((code) => code === "ok").length;
    const { poll: closed } = await reader.next("poll.created_or_updated");
    t.same(countsOf(closed), [accepted, 0, 0]);
    await passed("poll", room, manager);
    t.match(pushes.at(-1)!.data, { state: "closed" });
    t.same(countsOf(pushes.at(-1)!.data), [accepted, 0, 0]);
  });

  await t.test("9, 10 an edit among votes is not undone", async (t) => {
    const room = await votes.room();
    const host = await votes.host();
    const reader = await votes.entered(room, "reader");
    const manager = await votes.entered(room, "manager", ["admin"]);
    for (const kind of ["poll", "question"] as const) {
      const made =
        kind === "poll" ? await votes.poll(room) : await votes.question(room);
      const { id } = made;
      const pushes = {
        reader: pushesTo(reader, kind, id),
        manager: pushesTo(manager, kind, id),
      };
      const cast = (client: Client) =>
        kind === "poll"
          ? votes.vote(client, made, 0)
          : client.do("question.vote", { room, id });
      await Promise.all(crowd.slice(0, 10).map(cast));
      const state = kind === "poll" ? "draft" : "archived";
      const edits = { room, id, content: "Edited", state };
      await host.do(`${kind}.update`, edits);
      await passed(kind, room, manager);
      // The reader's connection may deliver later than the manager's.
      await reader.do("room.enter", { room });
      for (const [name, those] of Object.entries(pushes)) {
        const states = those.map(({ data }) => data.state);
        const first = states.indexOf(state);
        t.ok(first >= 0, `${kind}: ${name} hears of it`);
        t.notOk(
          states.slice(first).some((one) => one !== state),
          `${kind}: ${name} hears of no earlier state later`,
        );
        // What is written into it while it is hidden is not for readers.
        const content = name === "manager" ? "Edited" : made.content;
        t.match(those.at(-1)!.data, { content }, name);
      }
      const late = pushes.reader.filter(({ data }) => data.state === state);
      t.equal(late.length, 1, `${kind}: readers hear once that it is hidden`);
      const now = pushes.manager.at(-1)!.data;
      t.equal(kind === "poll" ? countsOf(now)![0] : now.score, 10);
    }
  });

  for (const kind of ["poll", "question"] as const) {
    await t.test(`10 a ${kind} that is deleted during a rush`, async (t) => {
      const room = await votes.room();
      const observer = await votes.entered(room, "observer", ["admin"]);
      const id = await votes.make(kind, room);
      const heard: string[] = [];
      observer.ws.on("message", (bytes) => {
        const [name, data] = JSON.parse((bytes as Buffer).toString()) as Frame;
        if (((data as Json)?.[kind] ?? data)?.id === id) heard.push(name);
      });
      const payload = { room, id, options: [] };
      const rush = Promise.all(
        crowd.map((client) => client.code(`${kind}.vote`, payload)),
      );
      await (await votes.host()).do(`${kind}.delete`, { room, id });
      const others = (await rush).filter(
        (code) => code !== "ok" && code !== `${kind}.unknown`,
      );
      t.same(others, []);
      await passed(kind, room, observer);
      t.equal(heard.at(-1), `${kind}.deleted`, "nothing comes later");
      const deletions = heard.filter((name) => name === `${kind}.deleted`);
      t.equal(deletions.length, 1);
    });
  }

  await t.test("9, 10 votes of what is gone when they are due", async (t) => {
    const host = await votes.host();
    const gone: Record<string, (room: string, voter: Client) => unknown> = {
      connection: (_room, voter) => voter.ws.terminate(),
      user: (_room, { id }) => host.do("user.delete", { id }),
      room: (room) => host.do("room.delete", { room }),
      module: (room) => votes.alter(room, { question: null, poll: null }),
    };
    for (const [name, go] of Object.entries(gone)) {
      const room = await votes.room();
      const observer = await votes.entered(room, "observer", ["admin"]);
      const voter = await votes.entered(room, `gone with ${name}`);
      const [poll, question] = [
        await votes.poll(room),
        await votes.question(room),
      ];
      const cast = async (client: Client) => {
        await votes.vote(client, poll, 0);
        await client.do("question.vote", { room, id: question.id });
      };
      // The first votes are pushed at once, so those of the other one wait.
      await cast(crowd[0]!);
      await cast(voter);
      await go(room, voter);
      const elsewhere = await votes.room();
      await observer.do("room.enter", { room: elsewhere });
      const heard = pushesTo(observer, "poll", poll.id);
      await passed("poll", elsewhere, observer);
      await passed("question", elsewhere, observer);
      if (name === "room") {
        t.same(heard, [], "a room that is gone is silent");
        continue;
      }
      if (name === "module") await votes.alter(room, {});
      t.equal(countsOf(await votes.pollNow(room, poll.id))![0], 2, name);
      t.match(await votes.questionNow(room, question.id), { score: 2 }, name);
    }
  });
});
