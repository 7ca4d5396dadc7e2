import { createHash } from "node:crypto";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { wordsFor } from "../../plugins/mail/words.js";
import { escaped } from "../../plugins/web/head.js";
import { UUID } from "../../schemas/plain/texts.js";

interface Params {
  world: string;
  mail: string;
}
type Request = FastifyRequest<{ Params: Params }>;

const STOP = "/w/:world/mails/:mail/stop";

const IS_ID = new RegExp(`^${UUID}$`);

const STYLE =
  ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}" +
  "body{max-width:32rem;margin:15vh auto 0;padding:0 1rem}h1{font-size:1.5rem}" +
  "button{font:inherit;padding:.6rem 1.2rem;border-radius:.4rem;border:1px solid;cursor:pointer}";

const DIGEST = createHash("sha256").update(STYLE).digest("base64");

/** No scripts and no external resources: the page consists of a single button. */
const headers = {
  "content-security-policy": `default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'sha256-${DIGEST}'`,
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * The unsubscribe link in mails. Mail clients send the POST themselves (RFC 8058). A GET changes
 * nothing, because mail scanners follow every link.
 */
const routes: FastifyPluginAsync = async (app) => {
  const config = { requires: "public" } as const;
  // The body is always the same, regardless of its format.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => {
    payload.resume();
    payload.on("end", () => done(null));
    payload.on("error", done);
  });

  app.get(STOP, { config }, async (request, reply) => {
    const { params, server } = request as Request;
    const mail = IS_ID.test(params.mail)
      ? await server.store.mails.get(params.world, params.mail)
      : undefined;
    return sendPage(reply, mail?.invitation ? "ask" : "unknown");
  });

  app.post(STOP, { config }, async (request, reply) => {
    const { params, server } = request as Request;
    const isKnown =
      IS_ID.test(params.mail) &&
      (await server.store.mails.stop(params.world, params.mail, Date.now()));
    return sendPage(reply, isKnown ? "done" : "unknown");
  });
};

/**
 * @param state `ask` until the button has been pressed.
 */
async function sendPage(
  reply: FastifyReply,
  state: "ask" | "done" | "unknown",
): Promise<FastifyReply> {
  const { params, server } = reply.request as Request;
  const world = (await server.store.worlds.get(params.world))?.value;
  const { locale, stopPage } = wordsFor(world?.config["locale"]);
  // Only recipients of a mail may see the event's title.
  const heading = state === "unknown" ? stopPage.title : (world?.title ?? stopPage.title);
  const text = { ask: stopPage.text, done: stopPage.done, unknown: stopPage.unknown }[state];
  const form = `<form method="post"><button>${escaped(stopPage.button)}</button></form>`;
  return reply
    .code(state === "unknown" ? 404 : 200)
    .headers(headers)
    .type("text/html; charset=utf-8")
    .send(
      `<!DOCTYPE html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${escaped(stopPage.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1 dir="auto">${escaped(heading)}</h1>
<p>${escaped(text)}</p>
${state === "ask" ? form : ""}
</body>
</html>
`,
    );
}

export default routes;
