import t from "tap";
import { startServer } from "../../support/server.js";

void t.test("people rate sessions that are over", async (t) => {
  const { people, rest } = await startServer(t, { people: ["ann", "bob", "cy", "dee"] });
  const [ann, bob, cy, dee] = ["ann", "bob", "cy", "dee"].map((name) => people[name]!);
  const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
  const session = async (title: string, from: number, to: number, more = {}) => {
    const draft = { title, starts_at: at(from), ends_at: at(to), ...more };
    return (await rest("POST", "demo/sessions/", draft)).body.id as string;
  };
  const speaker = (await rest("POST", "demo/speakers/", { name: "Ann", user_id: ann!.id })).body.id;
  const over = await session("Over", -60, -10, { speaker_ids: [speaker] });
  const nearly = await session("Nearly over", -30, 4);
  const running = await session("Running", -30, 30);
  const draft = await session("Draft", -60, -30, { state: "draft" });
  const untimed = (await rest("POST", "demo/sessions/", { title: "No time" })).body.id as string;
  const rate = (session: unknown, stars: unknown = 5, text?: unknown) =>
    bob!.code("session.rate", { session, stars, ...(text !== undefined && { text }) });
  const config = async (changes: object) => {
    const world = (await rest("GET", "demo/")).body as { config: object };
    const answer = await rest("PATCH", "demo/", { config: { ...world.config, ...changes } });
    t.equal(answer.status, 200);
  };

  t.equal(await rate(over), "session.not_rateable", "nobody is asked by default");
  await config({ feedback: { sessions: true } });
  for (const [name, asked, code] of [
    ["one that is over", over, "ok"],
    ["one that ends in four minutes", nearly, "ok"],
    ["a running one", running, "session.not_rateable"],
    ["a draft", draft, "program.unknown"],
    ["one without a time", untimed, "session.not_rateable"],
    ["none", "none", "program.unknown"],
    ["something else", { $ne: 1 }, "program.unknown"],
  ] as const) {
    t.equal(await rate(asked), code, name);
  }
  for (const [stars, text] of [
    [0, ""],
    [6, ""],
    [2.5, ""],
    ["5", ""],
    [5, "x".repeat(501)],
    [5, 7],
  ] as const) {
    t.equal(await rate(over, stars, text), "protocol.invalid_payload", `${stars} ${typeof text}`);
  }
  t.equal(await rate(over, 2, "  Too fast. "), "ok");
  t.same(await bob!.do("session.ratings", {}), {
    asks: true,
    ratings: [
      { session: over, stars: 2, text: "Too fast." },
      { session: nearly, stars: 5, text: "" },
    ],
    averages: [],
  });
  for (const [person, stars] of [
    [ann!, 5],
    [cy!, 4],
  ] as const) {
    await person.do("session.rate", { session: over, stars });
  }
  const averages = async (person: typeof ann) =>
    ((await person!.do("session.ratings", {})) as { averages: unknown[] }).averages;
  t.same(await averages(ann), [], "speakers see nothing unless the event shows it");
  await config({ feedback: { sessions: true, show_speakers: true } });
  t.same(await averages(ann), [{ session: over, stars: 3.7, count: 3 }]);
  t.same(await averages(bob), [], "others see none");

  const { body } = await rest("GET", "demo/results/feedback/");
  t.same(
    body.results.map(({ session, stars, text }: Record<string, unknown>) => [session, stars, text]),
    [
      ["Over", 2, "Too fast."],
      ["Over", 5, null],
      ["Over", 4, null],
      ["Nearly over", 5, null],
    ],
  );
  t.notMatch(JSON.stringify(body), /user|name|sender|_at/, "without names or times");

  await config({ feedback: { sessions: true } });
  const rules = { "session.rate": ["vip"] };
  const world = (await rest("GET", "demo/")).body as { permission_config: object };
  await rest("PATCH", "demo/", { permission_config: { ...world.permission_config, ...rules } });
  t.equal(await dee!.code("session.rate", { session: over, stars: 1 }), "auth.denied");
  t.equal(await dee!.code("session.ratings", {}), "auth.denied");
});
