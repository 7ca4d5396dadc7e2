import { readFileSync } from "node:fs";
import t from "tap";
import { suspend } from "../support/helper.js";
import { NO_SERVERS } from "../support/shared.js";
import { bodiesOf, type Client, history, type Json, message, text } from "../support/open-world.js";
import { demo, type ServerOptions, startServer } from "../support/server.js";
import { WORLD } from "./kit.js";

// Slow mode, held messages, reports, and captions, on several processes and with kills.

const servers: Readonly<Record<string, ServerOptions>> = {
  "two workers on SQLite": { processes: 2, env: { WORKERS: "2" } },
  "two nodes on PostgreSQL": { engine: "own", processes: 2 },
};

for (const [name, options] of Object.entries(servers)) {
  const skip = options.engine === "own" && NO_SERVERS;
  void t.test(name, { skip }, async (t) => {
    const server = await startServer(t, { ...options, worlds: [demo({ id: WORLD })] });
    const room = async (config: object) => {
      const module_config = [{ type: "chat.native", config }];
      const draft = { name: JSON.stringify(config), module_config };
      return (await server.rest("POST", `${WORLD}/rooms/`, draft)).body.id as string;
    };
    const member = async (uid: string, channel: string, ...traits: string[]) => {
      const profile = { display_name: uid };
      const client = await server.person({ uid, traits, profile, world: WORLD });
      await client.do("chat.join", { channel });
      return client;
    };
    const codes = (clients: readonly Client[], action: string, payload: object) =>
      Promise.all(clients.map((client) => client.code(action, payload)));
    const counted = (all: readonly string[]) =>
      Object.fromEntries(
        [...new Set(all)].sort().map((code) => [code, all.filter((it) => it === code).length]),
      );
    /** Kills all processes, one after another. */
    const kill = async () => {
      for (const index of server.processes.keys()) await server.restart("SIGKILL", index);
    };

    const slow = await room({ slow_mode: 600 });
    const tabs = await Promise.all(Array.from({ length: 20 }, () => member("ann", slow)));
    const sent = await codes(tabs, "chat.send", message(slow, text("Now")));
    t.same(counted(sent), { "chat.slow_mode": 19, ok: 1 }, "20 tabs are one person");
    await kill();
    const [again] = await Promise.all([member("ann", slow)]);
    t.equal(
      await again.code("chat.send", message(slow, text("Again"))),
      "chat.slow_mode",
      "also after a kill",
    );

    const channel = await room({ hold: true });
    let mods = await Promise.all([1, 2].map(() => member("mod", channel, "admin")));
    let bob = await member("bob", channel);
    const held: Json[] = [];
    for (let i = 0; i < 10; i++) {
      held.push((await bob.do("chat.send", message(channel, text(`${i}`)))).held);
    }
    for (const mod of mods) {
      for (const { id } of held) await mod.next("chat.held", ({ event }) => event.id === id);
    }
    await kill();
    mods = await Promise.all([1, 2].map(() => member("mod", channel, "admin")));
    bob = await member("bob", channel);
    const { results } = await bob.do("chat.held.list", { channel });
    t.same(results, held, "what waits survives a kill");
    for (const [i, { id: event }] of held.entries()) {
      const action = i % 2 === 0 ? "chat.approve" : "chat.reject";
      const decisions = await codes(mods, action, { channel, event });
      t.same(
        counted(decisions),
        { "chat.unknown_event": 1, ok: 1 },
        "of two moderators, one decides",
      );
    }
    for (const { id } of held) await bob.next("chat.held.gone", ({ event }) => event === id);
    const messages = (await history(bob, channel)).filter(({ content }) => content.body);
    t.same(bodiesOf(messages), ["0", "2", "4", "6", "8"], "each once");

    const eve = await member("eve", channel);
    const event = messages[0]!.event_id as number;
    const reporters = [eve, await member("eve", channel), await member("sue", channel)];
    const reported = await codes(reporters, "chat.report", { channel, event, reason: "spam" });
    t.same(counted(reported), { ok: 3 });
    for (const mod of mods) await mod.next("report.changed", ({ open }) => open === 1);
    await kill();
    mods = await Promise.all([1, 2].map(() => member("mod", channel, "admin")));
    const { reports } = await mods[0]!.do("report.list", {});
    t.match(reports, [{ state: "open", count: 2 }], "two people");
    const decided = await codes(mods, "report.resolve", { id: reports[0].id, action: "deleted" });
    t.same(counted(decided), { ok: 1, "report.unknown": 1 });
    await mods[1]!.next("report.changed", ({ open }) => open === 0);
    t.match(
      (await history(mods[1]!, channel)).filter(({ event_id }) => event_id === event),
      [{ content: { type: "deleted" } }],
    );

    const hall = await room({});
    const path = `${WORLD}/rooms/${hall}/captions/`;
    const isShared = options.engine === "own";
    const { pid: main } = server.processes[0]!;
    const workers = readFileSync(`/proc/${main}/task/${main}/children`, "utf8").trim().split(" ");
    /** Connects to one of two workers or nodes. A stopped worker accepts no connections. */
    const connectTo = async (index: number) => {
      if (isShared) return server.connect(WORLD, {}, server.processes[index]!.address);
      const other = Number(workers[1 - index]);
      await suspend([other]);
      try {
        return await server.connect(WORLD);
      } finally {
        process.kill(other, "SIGCONT");
      }
    };
    const subscribed = async (client: Client) => {
      await client.login({ token: server.tokenOf({ uid: "reader", world: WORLD }) });
      await client.do("room.captions", { room: hall, lang: "en" });
      return client;
    };
    /**
     * Sends a line until a process has accepted it. A process that was killed may have stored the
     * line, too.
     */
    const speak = async (text: string, final = true) => {
      for (let tries = 0, status = 0; status !== 204; tries++) {
        if (tries === 1000) throw new Error("Nobody takes captions.");
        const answer = server.rest("POST", path, { lang: "en", text, final });
        status = (await answer.catch(() => ({ status: 0 }))).status;
      }
    };
    const [doomed, spared] = [
      await subscribed(await connectTo(0)),
      await subscribed(await connectTo(1)),
    ];
    const lines = Array.from({ length: 20 }, (_, i) => `Line ${i}.`);
    for (const line of lines.slice(0, 5)) await speak(line);
    const killed = isShared
      ? server.restart("SIGKILL", 0)
      : process.kill(Number(workers[0]), "SIGKILL");
    for (const line of lines.slice(5)) await speak(line);
    await Promise.all([killed, doomed.closed]);
    for (const line of lines) await spared.next("room.caption", ({ text }) => text === line);
    await speak("And", false);
    const late = await subscribed(await server.connect(WORLD));
    t.match(await late.next("room.caption"), { text: lines.at(-1), final: true });
    t.match(await late.next("room.caption"), { text: "And", final: false });
    const kept = (await server.rest("GET", path)).body.results as Json[];
    t.same([...new Set(kept.map(({ text }) => text))], lines, "all of them, in order");
  });
}
