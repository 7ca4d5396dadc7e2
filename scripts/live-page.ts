import type { JsonObject } from "../schemas/openapi/openapi-schema.js";
import { escapeHtml, json, refName, schemaHtml, type DocumentSchema } from "./schema-html.js";

interface Reference {
  $ref: string;
}
interface Message {
  summary: string;
  payload: DocumentSchema & { items: readonly DocumentSchema[] };
  examples?: readonly { payload: unknown }[];
}
interface Operation {
  action: "send" | "receive";
  channel: Reference;
  title: string;
  summary: string;
  "x-requires"?: string;
  messages: readonly Reference[];
  reply?: { messages: readonly Reference[] };
}
interface Document {
  channels: { world: { address: string; messages: Record<string, Message> } };
  operations: Record<string, Operation>;
  components: { schemas: Record<string, DocumentSchema> };
}

/** The stylesheet of the page, which is served as a file next to it. */
export const LIVE_STYLE =
  "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}h3{margin:2.5rem 0 0}h3,p{overflow-wrap:anywhere}p{margin:.4rem 0}pre{overflow-x:auto;background:#f3f3f3;padding:.6rem .8rem;margin:.4rem 0}i{color:#666}nav{columns:17rem}nav a{display:block}dt{font-family:monospace;margin-top:.5rem}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#a5b4fc}pre{background:#262626}i{color:#aaa}}";

/**
 * Renders the AsyncAPI document as a page for people. URLs are relative to `/docs/live`, because a
 * proxy may serve it under any path.
 */
export function livePage(document: JsonObject): string {
  const { channels, operations, components } = document as unknown as Document;
  const { address, messages } = channels.world;
  const all = Object.values(operations).filter(({ channel }) => refName(channel.$ref) === "world");
  const commands = all.filter(({ action }) => action === "receive");
  const pushes = all.filter(({ action }) => action === "send");
  const messageOf = ({ $ref }: Reference) => messages[refName($ref)]!;

  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Foyer websocket</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="live.css">
  </head>
  <body>
    <h1>Foyer websocket</h1>
    <p>Connect to <code>${escapeHtml(address)}</code>. Each text frame is one JSON array:
      a command with an id and a payload, its answer, or a push. Programs read
      <a href="../api/v1/asyncapi.json">asyncapi.json</a>; the
      <a href="./">HTTP API</a> has its own page.</p>
    <h2>Commands</h2>
    <nav>${commands.map(({ title }) => linkTo("command", title)).join("")}</nav>
    ${commands.map((command) => commandHtml(command, messageOf)).join("")}
    <h2>Pushes</h2>
    <nav>${pushes.map(({ title }) => linkTo("push", title)).join("")}</nav>
    ${pushes.map((push) => pushHtml(push, messageOf)).join("")}
    <h2>Shapes</h2>
    ${Object.entries(components.schemas).map(shapeHtml).join("")}
  </body>
</html>
`;
}

const linkTo = (kind: string, name: string): string =>
  `<a href="#${kind}-${escapeHtml(name)}">${escapeHtml(name)}</a>`;

const headOf = (kind: string, name: string, summary: string): string =>
  `<h3 id="${kind}-${escapeHtml(name)}">${escapeHtml(name)}</h3><p>${escapeHtml(summary)}</p>`;

function commandHtml(
  { title, summary, messages, reply, "x-requires": requires }: Operation,
  messageOf: (reference: Reference) => Message,
): string {
  const [request] = messages.map(messageOf);
  const answers = (reply?.messages ?? []).map(messageOf);
  return [
    `<section>${headOf("command", title, summary)}`,
    requires === undefined ? "" : `<p>Requires: ${escapeHtml(requires)}</p>`,
    `<p>The client sends</p><pre>${schemaHtml(request!.payload)}</pre>`,
    ...(request!.examples ?? []).map(
      ({ payload }) => `<p>for example <code>${json(payload)}</code></p>`,
    ),
    "<p>The server answers</p>",
    ...answers.map(answerHtml),
    "</section>",
  ].join("");
}

const pushHtml = (
  { title, summary, messages }: Operation,
  messageOf: (reference: Reference) => Message,
): string =>
  `<section>${headOf("push", title, summary)}${messages
    .map(messageOf)
    .map((message) => `<p>${escapeHtml(message.summary)}</p>${answerHtml(message)}`)
    .join("")}</section>`;

const answerHtml = ({ payload }: Message): string =>
  `<pre>${schemaHtml(payload)}</pre>${codesHtml(payload.items.at(-1)!)}`;

/** Renders the possible codes of an error, to which its schema is narrowed. */
function codesHtml({ allOf }: DocumentSchema): string {
  const codes = allOf?.flatMap(({ properties }) => properties?.code?.enum ?? []);
  if (!codes?.length) return "";
  const links = codes.map((code) => {
    const name = escapeHtml(String(code));
    return `<a href="#code-${name}"><code>${name}</code></a>`;
  });
  return `<p>with one of the codes ${links.join(", ")}</p>`;
}

function shapeHtml([name, schema]: [string, DocumentSchema]): string {
  const { description = "", oneOf } = schema;
  const body = oneOf
    ? `<dl>${oneOf.map(codeHtml).join("")}</dl>`
    : `<pre>${schemaHtml(schema)}</pre>`;
  return `<section><h3 id="${escapeHtml(name)}">${escapeHtml(name)}</h3><p>${escapeHtml(description)}</p>${body}</section>`;
}

function codeHtml({ const: code, description = "" }: DocumentSchema): string {
  const name = escapeHtml(String(code));
  return `<dt id="code-${name}">${name}</dt><dd>${escapeHtml(description)}</dd>`;
}
