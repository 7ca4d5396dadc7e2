import t, { type Test } from "tap";
import { freshSetupKey, type SetupKey } from "../../plugins/setup.js";
import { serve, type Answer } from "../helper.js";

const draft = {
  title: "Über Maps 2027!",
  name: "Ada",
  template: "meetup",
  locale: "de",
  timezone: "Europe/Berlin",
  color: "#ffcc00",
  starts_at: "2027-01-31T09:00:00.000Z",
  ends_at: "2027-01-31T18:00:00.000Z",
};

/** A server without a world, and a call of its setup. */
async function empty(t: Test, setup?: SetupKey) {
  const server = await serve(t, [], { ...(setup && { setup }) });
  const setUp = (secret: string | undefined, body: object = draft) =>
    server.call({
      method: "POST",
      url: "/api/v1/setup/",
      ...(secret !== undefined && { as: `Bearer ${secret}` }),
      body,
    });
  return { ...server, setUp };
}

void t.test("an event from its link, once", async (t) => {
  const key = freshSetupKey();
  const { setUp, store, call } = await empty(t, key);
  // All at once: one of them sets up.
  const answers = await Promise.all([1, 2, 3].map(() => setUp(key.secret)));
  t.same(answers.map(({ status }) => status).sort(), [201, 401, 401]);
  const made = answers.find(({ status }) => status === 201) as Answer;
  const { id, token, links } = made.body as {
    id: string;
    token: string;
    links: Record<string, string>;
  };
  t.equal(id, "uber-maps-2027");
  t.match(links["event"], /\/w\/uber-maps-2027\/$/);
  t.match(links["console"], `#token=${token}`);
  const { body } = await call({
    url: `/api/v1/worlds/${id}/`,
    as: `Bearer ${token}`,
  });
  t.match(body, {
    title: draft.title,
    config: {
      ...{ locale: "de", timezone: "Europe/Berlin" },
      theme: { colors: { primary: "#ffcc00" } },
      event: { starts_at: draft.starts_at, ends_at: draft.ends_at },
    },
  });
  const rooms = await store.rooms.all(id, { page: 1, pageSize: 10 });
  t.same(
    rooms.map(({ value }) => value.name),
    ["Stage", "Lounge"],
  );
  t.equal((await setUp(key.secret)).status, 401, "it has served");
  t.equal((await store.worlds.list({ limit: 10 })).length, 1);
});

void t.test("who may not", async (t) => {
  const key = freshSetupKey();
  for (const [name, setup, secret] of [
    ["without a secret", key, undefined],
    ["with another", key, freshSetupKey().secret],
    ["with one that is over", { ...key, ends: Date.now() - 1 }, key.secret],
    ["where none is given out", undefined, key.secret],
    ["with an empty one", key, ""],
  ] as const) {
    const { setUp, store } = await empty(t, setup);
    const { status, body } = await setUp(secret);
    t.equal(status, 401, name);
    t.match(body, { code: "unauthenticated" }, name);
    t.same(await store.worlds.list({ limit: 1 }), [], name);
  }
});

void t.test("guessing ends", async (t) => {
  const key = freshSetupKey();
  const { setUp } = await empty(t, key);
  const statuses: number[] = [];
  for (let i = 0; i < 31; i++) statuses.push((await setUp("guess")).status);
  t.same([...new Set(statuses)], [401, 429]);
  t.equal((await setUp(key.secret)).status, 201, "the organizer still may");
});

void t.test("a wrong draft is refused, and uses up nothing", async (t) => {
  const key = freshSetupKey();
  const { setUp } = await empty(t, key);
  for (const [field, change] of [
    ["title", { title: "" }],
    ["title", { title: undefined }],
    ["name", { name: "" }],
    ["template", { template: "party" }],
    ["color", { color: "red" }],
    ["locale", { locale: "not a language" }],
    ["starts_at", { starts_at: "tomorrow" }],
    ["ends_at", { ends_at: draft.starts_at }],
    ["ends_at", { ends_at: undefined }],
    ["starts_at", { starts_at: undefined }],
    ["starts_at", { starts_at: "2027-13-31T09:00:00.000Z" }],
    ["extra", { extra: 1 }],
  ] as const) {
    const { status, body } = await setUp(key.secret, { ...draft, ...change });
    t.equal(status, 400, JSON.stringify(change));
    t.same(Object.keys(body as object), [field], JSON.stringify(change));
  }
  const { status, body } = await setUp(key.secret, {
    ...{ title: "日本", name: "Ada", template: "webinar" },
  });
  t.match([status, body], [201, { id: "event" }], "then it still works");
});
