import t, { type Test } from "tap";
import type { Client, Json } from "../../conformance/client.js";
import { POLL_KINDS } from "../../schemas/plain/polls.js";
import { until } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { type Server, startServer } from "../support/server.js";
import { NO_SERVERS } from "../support/shared.js";

// Crowds in quizzes and word clouds, on several processes that are killed.

/** Number of people. */
const PLAYERS = NIGHT ? 2000 : 120;
const WRITERS = NIGHT ? 5000 : 300;

/** Duration for which a crowd writes, in milliseconds. */
const WRITING_MS = NIGHT ? 10_000 : 5000;

/** How long the quizzes are open, in seconds. */
const SECONDS = NIGHT ? 20 : 5;

const SERVERS: readonly [name: string, options: Json, skip: boolean | string][] = [
  ["two workers on SQLite", { processes: 2, env: { WORKERS: "2" } }, false],
  ["two nodes on PostgreSQL", { processes: 2, engine: "shared" }, NO_SERVERS],
];

const saved = "poll.created_or_updated";

async function logIn(server: Server, uid: string, traits: string[] = []): Promise<Client> {
  const client = await server.connect();
  const token = server.tokenOf({ uid, traits, profile: { display_name: uid } });
  const [name] = await client.login({ token, poll_kinds: [...POLL_KINDS] });
  if (name !== "authenticated") throw new Error(`${uid} could not log in.`);
  return client;
}

/** Logs in many people, in batches. */
async function crowdOf(server: Server, size: number, name: string): Promise<Client[]> {
  const clients: Client[] = [];
  while (clients.length < size) {
    const next = Array.from({ length: Math.min(50, size - clients.length) }, (_, i) =>
      logIn(server, `${name}-${clients.length + i}`),
    );
    clients.push(...(await Promise.all(next)));
  }
  return clients;
}

const pollIn = async (client: Client, room: string, id: string): Promise<Json> =>
  ((await client.do("poll.list", { room })) as Json[]).find((poll) => poll.id === id)!;

const pause = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms));

/** Creates a quiz whose first option is correct. */
async function quizOf(host: Client, room: string): Promise<Json> {
  const options = [{ content: "Right", correct: true }, { content: "Wrong" }];
  const draft = { content: "?", poll_type: "quiz", settings: { seconds: SECONDS }, options };
  return (await host.do("poll.create", { room, ...draft, state: "open" })).poll;
}

for (const [name, options, skip] of SERVERS) {
  void t.test(`crowds vote: ${name}`, { skip, timeout: 600_000 }, async (t: Test) => {
    const server = await startServer(t, options);
    const module_config = [{ type: "poll", config: { active: true } }];
    const made = await server.rest("POST", "demo/rooms/", { name: "Hall", module_config });
    const room = made.body.id as string;
    let host = await logIn(server, "host", ["admin", "api"]);

    await t.test("a quiz counts all answers in time, and no others", async (t) => {
      const players = await crowdOf(server, PLAYERS, "player");
      const quiz = await quizOf(host, room);
      const ends = Date.parse(quiz.ends_at);
      const span = ends + 600 - Date.now();
      const votes = await Promise.all(
        players.map(async (player, i) => {
          await pause((span * i) / players.length);
          const option = quiz.options[i % 2].id;
          const sent = Date.now();
          const ballot = { room, id: quiz.id, options: [option] };
          const code = await player.code("poll.vote", ballot);
          return { option, code, sent, answered: Date.now() };
        }),
      );
      for (const { code, sent, answered } of votes) {
        if (sent >= ends && code !== "poll.vote") t.fail(`late by ${sent - ends} ms: ${code}`);
        if (answered < ends && code !== "ok") t.fail(`early by ${ends - answered} ms: ${code}`);
      }
      const counted = (option: string) =>
        votes.filter((vote) => vote.option === option && vote.code === "ok").length;
      const late = votes.filter(({ code }) => code === "poll.vote").length;
      t.ok(late > 0 && late < PLAYERS / 2, `${late} late answers`);
      for (const client of [host, players[0]!, players[1]!]) {
        await until(async () => (await pollIn(client, room, quiz.id)).state === "closed");
        const { results, options } = await pollIn(client, room, quiz.id);
        const expected = Object.fromEntries(quiz.options.map(({ id }: Json) => [id, counted(id)]));
        t.same(results, expected);
        t.match(options, [{ correct: true }, { correct: false }]);
        const board = await client.do("poll.leaderboard", { room });
        t.equal(board.players.length, 20);
        t.ok(board.players.every(({ points }: Json) => points === 1));
      }
      for (const player of players) player.close();
    });

    await t.test("a quiz ends though all processes are killed", async (t) => {
      const players = await crowdOf(server, 20, "survivor");
      const quiz = await quizOf(host, room);
      const vote = (player: Client) =>
        player.code("poll.vote", { room, id: quiz.id, options: [quiz.options[0].id] });
      t.same(
        await Promise.all(players.map(vote)),
        players.map(() => "ok"),
      );
      await server.restart("SIGKILL");
      host = await logIn(server, "host", ["admin", "api"]);
      await until(async () => (await pollIn(host, room, quiz.id)).state === "closed");
      t.ok(Date.now() >= Date.parse(quiz.ends_at), "not before its end");
      t.equal((await pollIn(host, room, quiz.id)).results[quiz.options[0].id], players.length);
      const audit = await server.rest("GET", "demo/audit/?page_size=1000");
      const closings = (audit.body.results as Json[]).filter((entry) => {
        const text = JSON.stringify(entry);
        return text.includes(quiz.id) && text.includes('"closed"');
      });
      t.equal(closings.length, 1, "once");
      const late = await logIn(server, "late");
      t.equal(await vote(late), "poll.vote");
    });

    await t.test("a cloud under a crowd is pushed four times a second", async (t) => {
      const writers = await crowdOf(server, WRITERS, "writer");
      const draft = { content: "?", poll_type: "words", state: "open" };
      const { poll } = await host.do("poll.create", { room, ...draft });
      await host.do("room.enter", { room });
      const began = performance.now();
      const codes = await Promise.all(
        writers.map(async (writer, i) => {
          await pause((WRITING_MS * i) / writers.length);
          const answers = [`Word ${i % 90}`, `word ${i % 7}`, `${"long".repeat(5)} ${i}`];
          return writer.code("poll.vote", { room, id: poll.id, answers });
        }),
      );
      t.ok(codes.every((code) => code === "ok"));
      await host.sees(saved, ({ poll }: Json) => poll.results.people === WRITERS);
      const seconds = (performance.now() - began) / 1000;
      const pushes = (await host.all()).filter(([name]) => name === saved);
      t.ok(pushes.length <= 4 * seconds + 2, `${pushes.length} pushes in ${seconds} s`);
      const largest = Math.max(...pushes.map((it) => Buffer.byteLength(JSON.stringify(it))));
      t.ok(largest <= 16 * 1024, `${largest} bytes`);
      const { results } = await pollIn(host, room, poll.id);
      t.equal(results.people, WRITERS);
      t.equal(results.words.length, 100);
      const words = writers.map((_, i) => new Set([i % 90, i % 7]));
      const counts = Array.from({ length: 90 }, (_, k) => words.filter((own) => own.has(k)).length);
      t.equal(results.words[0].count, Math.max(...counts));
      for (const writer of writers) writer.close();
    });
  });
}
