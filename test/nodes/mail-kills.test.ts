import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { until } from "../support/helper.js";
import { startMailServer } from "../support/mail-server.js";
import { demo, type ServerOptions, startServer } from "../support/server.js";
import { WORLD } from "./kit.js";

// Kills processes while they send mails. Nobody receives a mail twice, and no mail is lost
// silently.

const PEOPLE = 240;

const servers: Readonly<Record<string, ServerOptions>> = {
  "two workers on SQLite": { processes: 2, env: { WORKERS: "2" } },
  "two nodes on PostgreSQL": { engine: "own", processes: 2 },
};

for (const [name, options] of Object.entries(servers)) {
  void t.test(name, async (t) => {
    const arrivals = new Set<string>();
    const mail = await startMailServer(t, {
      // Long enough that a kill hits mails that the mail server has received but not acknowledged.
      data: async ({ to }) => {
        arrivals.add(to);
        await delay(50);
        return undefined;
      },
    });
    const server = await startServer(t, {
      ...options,
      worlds: [demo({ id: WORLD })],
      env: {
        ...options.env,
        PUBLIC_URL: "https://rooms.example.org",
        SMTP_URL: mail.url,
        MAIL_FROM: "events@example.org",
        MAIL_PER_MINUTE: "60000",
      },
    });
    const rest = (method: string, path: string, body?: object) =>
      server.rest(method, `${WORLD}/invitations/${path}`, body);
    const people = Array.from({ length: PEOPLE }, (_, i) => `guest-${i}@example.org`);
    const drafts = people.map((email) => ({ role: "attendee", email }));
    const made = await rest("POST", "", drafts);
    t.equal(made.status, 201);
    const invitations = made.body as { id: string; email: string }[];
    const ids = invitations.map(({ id }) => id);
    const kills = 4;
    t.match(await rest("POST", "send/", { ids, act: "first" }), { status: 202 });
    for (let kill = 1; kill <= kills; kill++) {
      await until(() => arrivals.size >= kill * 25);
      await server.restart("SIGKILL", server.processes.length > 1 ? kill % 2 : undefined);
      // A client that received no response repeats its request.
      t.match(await rest("POST", "send/", { ids, act: "first" }), { body: { queued: 0 } });
    }
    const [revoked] = invitations.filter(({ email }) => !arrivals.has(email)).slice(-1);
    t.match(await rest("DELETE", `${revoked!.id}/`), { status: 204 });

    /** Groups the invitations by the status of their mails. */
    const states = async () => {
      const found: Record<string, string[]> = {};
      for (let page = 1; ; page++) {
        const { body } = await rest("GET", `?page_size=100&page=${page}`);
        for (const { email, mail } of body.results) {
          (found[mail?.state ?? "none"] ??= []).push(email as string);
        }
        if (body.next === null) return found;
      }
    };
    // A process sends at most five mails concurrently, and each kill ends at most two processes.
    await until(async () => {
      const { waiting, sending = [] } = await states();
      return waiting === undefined && sending.length <= kills * 10;
    });
    const { sent = [], sending = [], failed = [] } = await states();
    const got = mail.mails.map(({ to }) => to);
    t.equal(new Set(got).size, got.length, "nobody gets a mail twice");
    t.same(
      sent.filter((to) => !got.includes(to)),
      [],
      "what is sent has arrived",
    );
    const lost = people.filter((to) => !got.includes(to) && to !== revoked!.email);
    const unsure = [...sending, ...failed];
    t.same(
      lost.filter((to) => !unsure.includes(to)),
      [],
      "no mail is lost silently",
    );
    t.notOk(got.includes(revoked!.email), "what is revoked is not sent");
  });
}
