import t from "tap";
import type { Json } from "../../../conformance/client.js";
import { until } from "../../support/helper.js";
import { startMailServer } from "../../support/mail-server.js";
import { openWorld } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Invitations by e-mail, from the point of view of hosts and recipients.

const mail = await startMailServer(t);
const publicUrl = "https://rooms.example.org/foyer";
const server = await startServer(t, {
  config: { publicUrl, mail: mail.settings({ timeout: 10_000 }) },
});

async function openEvent(config: Record<string, unknown> = {}, title = "Summit") {
  const world = await openWorld(server, { config });
  await world.rest("PATCH", "", { title });
  const invite = async (draft: object): Promise<Json> =>
    (await world.rest("POST", "invitations/", { role: "attendee", ...draft })).body;
  const send = (id: string, body: object = {}) =>
    world.rest("POST", `invitations/${id}/send/`, body);
  const reportOf = async (id: string): Promise<Json> =>
    (await world.rest("GET", `invitations/${id}/`)).body.mail;
  /** Waits until the last mail of an invitation has this state. */
  const becomes = async (id: string, state: string): Promise<Json> => {
    await until(async () => (await reportOf(id))?.state === state);
    return reportOf(id);
  };
  const mailTo = async (to: string) => {
    await until(() => mail.mails.some((it) => it.to === to));
    return mail.mails.findLast((it) => it.to === to)!;
  };
  return { world, invite, send, reportOf, becomes, mailTo };
}

const dates = { starts_at: "2027-03-01T08:00:00Z", ends_at: "2027-03-01T16:30:00Z" };

void t.test("an invitation by e-mail signs its person in", async (t) => {
  const config = {
    timezone: "Europe/Berlin",
    event: { ...dates, location: "Hall 1, Berlin" },
    theme: { colors: { primary: "#ffdd00" } },
    contact: "help@example.org",
  };
  const { world, invite, send, becomes, mailTo } = await openEvent(config);
  const { id } = await invite({ name: "Ada Lovelace", email: "ada@example.org" });
  const made = await world.rest("GET", `invitations/${id}/`);
  t.equal(made.body.mail, null);
  t.match(await send(id), { status: 202, body: { queued: 1, skipped: 0 } });
  t.match(await becomes(id, "sent"), { error: null, at: String });
  const { from, headers, text, html } = await mailTo("ada@example.org");
  t.equal(from, "events@example.org");
  t.match(headers, {
    from: "Events <events@example.org>",
    to: "Ada Lovelace <ada@example.org>",
    subject: "Your invitation to Summit",
    "reply-to": "help@example.org",
    "list-unsubscribe-post": "List-Unsubscribe=One-Click",
  });
  t.match(text, "Hello Ada Lovelace,\n\nYou are invited to Summit.");
  t.match(text, /When: Monday, March 1, 2027, 9:00\sAM\s–\s5:30\sPM GMT\+1\n/u);
  t.match(text, "Where: Hall 1, Berlin\n");
  t.match(text, "Questions? help@example.org");
  const link = `${publicUrl}/w/${world.id}/#token=`;
  const token = text.slice(text.indexOf(link) + link.length).split("\n")[0]!;
  t.match(html, `href="${link}${token}"`);
  t.match(html, "background:#ffdd00;color:#000");
  const ada = await world.connect();
  await ada.login({ token });
  t.match(ada.hello["user.config"].profile, { display_name: "Ada Lovelace" });
});

void t.test("a command sends to those who have had no mail", async (t) => {
  const { world, invite, mailTo } = await openEvent();
  for (const [name, role] of [
    ["ira", "speaker"],
    ["joe", "attendee"],
    ["kim", "speaker"],
  ]) {
    await invite({ email: `${name}@example.org`, role });
  }
  const send = async (...args: string[]) => {
    const { stdout } = await server.command("invite", "send", world.id, ...args, "--json");
    return JSON.parse(stdout) as unknown;
  };
  t.same(await send("kim@example.org"), { queued: 1, skipped: 0 });
  await mailTo("kim@example.org");
  t.same(await send("--role", "speaker", "--subject", "On stage"), { queued: 1, skipped: 0 });
  t.equal((await mailTo("ira@example.org")).headers["subject"], "On stage");
  t.same(await send("--role", "speaker"), { queued: 0, skipped: 0 });
});

void t.test("a mail is in the person's language, in the host's words", async (t) => {
  const { world, invite, send, becomes, mailTo } = await openEvent({
    locale: "de",
    mail: { subject: "Bis bald", text: "Schön, dass Sie kommen.\n\nBringen Sie Fragen mit." },
  });
  const bob = await invite({ name: "Bob", email: "bob@example.org", language: "en-US" });
  const cy = await invite({ email: "cy@example.org", role: "admin" });
  await send(bob.id, { text: "Your talk is at 10." });
  await send(cy.id);
  await becomes(bob.id, "sent");
  await becomes(cy.id, "sent");
  const english = await mailTo("bob@example.org");
  t.equal(english.headers["subject"], "Bis bald");
  t.match(english.text, "Hello Bob,\n\nYour talk is at 10.\n\nOpen the event:\nhttps:");
  const german = await mailTo("cy@example.org");
  t.match(german.text, "Guten Tag,\n\nSchön, dass Sie kommen.\n\nBringen Sie Fragen mit.\n\n");
  t.match(german.html, '<p dir="auto" style="margin:0 0 16px">Bringen Sie Fragen mit.</p>');
  t.match(german.text, `/w/${world.id}/console#token=`, "hosts begin in the console");
});

void t.test("texts of people are texts, in headers and in HTML", async (t) => {
  const evil = `<img src=x onerror=alert(1)> "A" & 'B'`;
  const { world, invite, send, becomes, mailTo } = await openEvent(
    { event: { ...dates, location: evil }, contact: `Ask ${evil}` },
    `Summit\r\nBcc: eve@example.org\r\n\r\n${evil}`,
  );
  const { id } = await invite({
    name: `Ada\r\nBcc: eve@example.org\r\n\r\n${evil}`,
    email: "ada2@example.org",
  });
  await send(id, { text: `${evil}\r\n.\r\nQUIT` });
  await becomes(id, "sent");
  const { html, headers, raw, text } = await mailTo("ada2@example.org");
  t.notMatch(html, /<img|<script/);
  t.match(html, "&lt;img src=x onerror=alert(1)&gt; &quot;A&quot; &amp; &#39;B&#39;");
  t.notOk("bcc" in headers);
  t.notMatch(raw.split("\r\n\r\n")[0], /^bcc:/im);
  t.match(headers["subject"], /^Your invitation to Summit Bcc: eve@example.org <img/);
  t.match(text, "\n.\nQUIT\n", "a lone dot does not end the mail");
  t.notOk(mail.mails.some((it) => it.to.includes("eve")));
  const refused: [body: object, field: string][] = [
    [{ subject: "Hello\r\nBcc: eve@example.org" }, "subject"],
    [{ subject: "Hello\u2028there" }, "subject"],
    [{ subject: "x".repeat(151) }, "subject"],
    [{ text: "x".repeat(1001) }, "text"],
    [{ html: "<b>" }, "html"],
  ];
  for (const [body, field] of refused) {
    t.match(await send(id, body), { status: 400, body: { [field]: [String] } });
  }
  for (const email of [
    "ada@example.org\r\nBcc: eve@example.org",
    "ada@example.org, eve@example.org",
    "<ada@example.org>",
    "ada@example.org> SIZE=1\r\nRCPT TO:<eve@example.org",
    "ada example.org",
    "@",
  ]) {
    const { status } = await world.rest("POST", "invitations/", { role: "attendee", email });
    t.equal(status, 400, JSON.stringify(email));
  }
  const config = (mail: unknown) => ({ config: { mail } });
  const odd = [config({ subject: "a\nb" }), config({ reminders: "yes" }), config({ html: "x" })];
  for (const body of [...odd, { config: { contact: "x".repeat(301) } }]) {
    t.equal((await world.rest("PATCH", "", body)).status, 400, JSON.stringify(body));
  }
});

void t.test("what became of a mail is shown", async (t) => {
  const { world, invite, send, becomes } = await openEvent();
  mail.rules = {
    rcpt: (to) => ({ "no@example.org": 550, "later@example.org": 450 })[to],
    data: ({ to }) => (to === "spam@example.org" ? 554 : undefined),
    drops: (to) => (({ "mid@example.org": "during", "end@example.org": "after" }) as const)[to],
  };
  t.teardown(() => (mail.rules = {}));
  const outcomes: [to: string, state: string, error: RegExp | string][] = [
    ["no@example.org", "failed", /^550 /],
    ["spam@example.org", "failed", /^554 /],
    ["later@example.org", "waiting", /^450 /],
    ["mid@example.org", "failed", "unknown"],
    ["end@example.org", "failed", "unknown"],
  ];
  for (const [email, state, error] of outcomes) {
    const { id } = await invite({ email });
    await send(id);
    await until(async () => {
      const { body } = await world.rest("GET", `invitations/${id}/`);
      return body.mail.state === state && body.mail.error !== null;
    });
    const report = await becomes(id, state);
    t.match(report.error, error, email);
    t.notMatch(report.error, "@", "an erased address is nowhere else");
  }
  const { body } = await world.rest("GET", "mail/");
  t.strictSame(body, {
    enabled: true,
    from: "events@example.org",
    per_minute: 60_000,
    waiting: 1,
    failed: 4,
  });
  const tries = mail.begun.filter((to) => /^(mid|end)@/.test(to));
  t.equal(tries.length, 2, "what may have arrived is not sent again");
});

void t.test("a mail server that does not answer is not asked twice", async (t) => {
  const { invite, send, becomes } = await openEvent();
  const hanging = new Promise<undefined>(() => {});
  mail.rules = { data: () => hanging };
  t.teardown(() => (mail.rules = {}));
  const { id } = await invite({ email: "slow@example.org" });
  await send(id);
  t.match(await becomes(id, "failed"), { error: "unknown" });
  t.equal(mail.begun.filter((to) => to === "slow@example.org").length, 1);
});

void t.test("many people get one mail each", async (t) => {
  const { world, invite, becomes } = await openEvent();
  const people: Json[] = [];
  for (let i = 0; i < 12; i++) {
    const role = i % 2 ? "speaker" : "attendee";
    people.push(await invite({ email: `p${i}@many.example.org`, role }));
  }
  const without = await invite({ name: "Without" });
  const revoked = await invite({ email: "revoked@many.example.org" });
  await world.rest("PATCH", `invitations/${revoked.id}/`, { revoked: true });
  const send = (body: object) => world.rest("POST", "invitations/send/", body);
  const filter = { role: "speaker" };
  t.match(await send({ filter, act: "one" }), { status: 202, body: { queued: 6, skipped: 0 } });
  t.match(await send({ filter, act: "one" }), { body: { queued: 0 } }, "a repeated request");
  for (const { id } of people.filter((_, i) => i % 2)) await becomes(id, "sent");
  const unsent = await send({ filter: { unsent: true } });
  t.match(unsent, { body: { queued: 6, skipped: 2 } });
  for (const { id } of people) await becomes(id, "sent");
  const received = mail.mails.filter(({ to }) => to.endsWith("@many.example.org"));
  t.strictSame(received.map(({ to }) => to).sort(), people.map(({ email }) => email).sort());
  t.match(await send({ ids: [without.id, revoked.id] }), { body: { queued: 0, skipped: 2 } });
  t.match(await send({ ids: [world.id] }), { status: 400 });
  const absent = "00000000-0000-4000-8000-000000000000";
  t.match(await send({ ids: [absent] }), { status: 403 });
  t.match(await send({}), { status: 400, body: { ids: [String] } });
  t.match(await send({ ids: [], filter: {} }), { status: 400 });
  const audit = await world.rest("GET", "audit/?type=mail.queued");
  t.match(audit.body.results, [{ type: "mail.queued" }]);
});

void t.test("nobody sends the links of people with more rights", async (t) => {
  const { world, invite } = await openEvent();
  await world.rest("PATCH", "", {
    permission_config: {
      "world.api": [["admin", "moderator"]],
      "world.secrets": ["admin"],
      "world.update": ["admin"],
      "user.invite": [["admin", "moderator"]],
    },
  });
  const host = await invite({ email: "host@example.org", role: "admin" });
  const guest = await invite({ email: "guest@example.org" });
  const token = world.tokenOf({ uid: "mo", traits: ["moderator"] });
  const as = async (path: string, body: object) =>
    (
      await server.call({
        method: "POST",
        url: `/api/v1/worlds/${world.id}/${path}`,
        headers: { authorization: `Bearer ${token}` },
        body,
      })
    ).body;
  t.match(await as(`invitations/${host.id}/send/`, {}), { code: "forbidden" });
  t.match(await as("invitations/send/", { filter: {} }), { queued: 1, skipped: 1 });
  t.match(await as(`invitations/${guest.id}/send/`, {}), { queued: Number });
});

void t.test("a test mail tells what the mail server says", async (t) => {
  const { world, mailTo } = await openEvent();
  const test = (to: string) => world.rest("POST", "mail/test/", { to });
  t.match(await test("me@example.org"), { status: 200, body: { state: "sent", error: null } });
  t.equal((await mailTo("me@example.org")).headers["subject"], "Test mail from Summit");
  mail.rules = { rcpt: () => 550 };
  t.teardown(() => (mail.rules = {}));
  t.match(await test("you@example.org"), { body: { state: "failed", error: /^550 / } });
  t.equal((await test("nobody")).status, 400);
});

void t.test("people can end further mails", async (t) => {
  const { world, invite, send, becomes, mailTo } = await openEvent({}, "<b>Summit</b>");
  const { id } = await invite({ email: "tired@example.org" });
  await send(id);
  await becomes(id, "sent");
  const { headers, text } = await mailTo("tired@example.org");
  const url = /^<(.*)>$/.exec(headers["list-unsubscribe"]!)![1]!;
  t.ok(text.includes(url));
  const path = url.slice(publicUrl.length);
  const get = await server.call({ method: "GET", url: path });
  t.equal(get.status, 200);
  t.match(get.text, "&lt;b&gt;Summit&lt;/b&gt;");
  t.match(get.text, '<form method="post">');
  t.match(get.headers["content-security-policy"], "default-src 'none'");
  t.match(await send(id), { body: { queued: 1 } }, "a scanner that follows links changes nothing");
  await becomes(id, "sent");
  const post = await server.call({
    method: "POST",
    url: path,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "List-Unsubscribe=One-Click",
  });
  t.equal(post.status, 200);
  t.match(await send(id), { body: { queued: 0, skipped: 1 } });
  for (const wrong of [path.replace(/[0-9a-f]{8}/, "00000000"), `/w/none/mails/x/stop`]) {
    const answer = await server.call({ method: "POST", url: wrong, body: "" });
    t.equal(answer.status, 404, wrong);
    t.notMatch(answer.text, "Summit");
  }
  await world.rest("DELETE", `invitations/${id}/`);
  t.equal((await server.call({ method: "POST", url: path, body: "" })).status, 404);
});

void t.test("a server without a mail server says so", async (t) => {
  const { rest } = await startServer(t);
  const { body } = await rest("POST", "demo/invitations/", { role: "attendee", email: "a@b.org" });
  const calls: [path: string, body: object][] = [
    [`demo/invitations/${body.id}/send/`, {}],
    ["demo/invitations/send/", { filter: {} }],
    ["demo/mail/test/", { to: "a@b.org" }],
    ["demo/login-mails/", { email: "a@b.org" }],
  ];
  for (const [path, sent] of calls) {
    t.match(await rest("POST", path, sent), { status: 409, body: { detail: /SMTP_URL/ } }, path);
  }
  t.match((await rest("GET", "demo/mail/")).body, { enabled: false, from: null });
});
