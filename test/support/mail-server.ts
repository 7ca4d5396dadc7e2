import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer, type SMTPServerSession } from "smtp-server";
import type { Test } from "tap";
import type { MailSettings } from "../../config.js";

/** A mail as the server received it. */
export interface ReceivedMail {
  readonly to: string;
  readonly from: string;
  /** The decoded headers, by lowercase name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly html: string;
  readonly raw: string;
}

/** How the server responds to a mail. */
export interface MailRules {
  /** Returns the response to the recipient: an SMTP code, or undefined to accept it. */
  rcpt?: (to: string) => number | undefined;
  /** Called once a mail's content has arrived. Returns the response, as above. */
  data?: (mail: ReceivedMail) => Promise<number | undefined> | number | undefined;
  /** Closes the connection while a mail's content is arriving, or afterward without a response. */
  drops?: (to: string) => "during" | "after" | undefined;
}

/** A mail server for a test. */
export interface MailServer {
  readonly url: string;
  /** The mails that it has accepted. */
  readonly mails: ReceivedMail[];
  /** The recipients of all mails that were started, including refused mails. */
  readonly begun: string[];
  /** The server's current rules. */
  rules: MailRules;
  /** The settings that make a test's server use it, without a rate limit. */
  settings(more?: Partial<MailSettings>): MailSettings;
  close(): Promise<void>;
}

/** Starts a mail server. It is closed at the end of the test. */
export async function startMailServer(t: Test, rules: MailRules = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const begun: string[] = [];
  const refusal = (code: number | undefined) =>
    code === undefined
      ? null
      : Object.assign(new Error(`${code} says the test`), { responseCode: code });
  const addressOf = ({ envelope }: SMTPServerSession) => envelope.rcptTo[0]!.address;
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disabledCommands: ["STARTTLS"],
    disableReverseLookup: true,
    onAuth({ username, password }, _session, done) {
      if (username === "me" && password === "pass@word") done(null, { user: username });
      else done(new Error("Wrong credentials"));
    },
    onRcptTo({ address }, _session, done) {
      done(refusal(found.rules.rcpt?.(address)));
    },
    onData(stream, session, done) {
      const to = addressOf(session);
      begun.push(to);
      const chunks: Buffer[] = [];
      const drop = () => {
        for (const connection of server.connections) {
          if (connection.session.id === session.id) connection._socket.destroy();
        }
      };
      const drops = found.rules.drops?.(to);
      if (drops === "during") stream.once("data", drop);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        if (drops !== undefined) return drop();
        const mail = parsed(Buffer.concat(chunks).toString(), session);
        void (async () => {
          const code = await found.rules.data?.(mail);
          if (code === undefined) mails.push(mail);
          done(refusal(code));
        })();
      });
    },
  }) as Server;
  // Connections that tests have cut off.
  server.on("error", () => {});
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const { port } = server.server.address() as AddressInfo;
  let closed: Promise<void> | undefined;
  const close = () =>
    (closed ??= new Promise<void>((resolve) => {
      for (const connection of server.connections) connection._socket.destroy();
      server.close(() => resolve());
    }));
  t.teardown(close);
  const found: MailServer = {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    begun,
    rules,
    settings: (more) => ({
      url: `smtp://127.0.0.1:${port}`,
      from: { name: "Events", address: "events@example.org" },
      perMinute: 60_000,
      timeout: 60_000,
      lostAfter: 90_000,
      ...more,
    }),
    close,
  };
  return found;
}

/** Members that are missing from the server's type declarations. */
interface Server extends Omit<SMTPServer, "connections"> {
  readonly connections: ReadonlySet<{
    readonly session: { readonly id: string };
    readonly _socket: { destroy(): void };
  }>;
  readonly server: SMTPServer["server"];
}

function parsed(raw: string, session: SMTPServerSession): ReceivedMail {
  const { headers, body } = partsOf(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers["content-type"] ?? "")?.[1];
  const parts = boundary === undefined ? [] : body.split(`--${boundary}`).map(partsOf);
  const textOf = (type: string) => {
    const part = parts.find((it) => it.headers["content-type"]?.startsWith(type));
    return part ? decoded(part) : "";
  };
  const { mailFrom, rcptTo } = session.envelope;
  return {
    to: rcptTo.map(({ address }) => address).join(" "),
    from: mailFrom === false ? "" : mailFrom.address,
    headers,
    text: textOf("text/plain"),
    html: textOf("text/html"),
    raw,
  };
}

function partsOf(text: string): { headers: Record<string, string>; body: string } {
  const plain = text.replace(/^\r\n/, "");
  const end = plain.indexOf("\r\n\r\n");
  const lines = plain
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), words(line.slice(colon + 1).trim())];
    }),
  );
  return { headers, body: plain.slice(end + 4) };
}

/** Decodes the encoded words of a header (RFC 2047). */
const words = (text: string): string =>
  text
    .replace(/\?=\s+=\?/g, "?==?")
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_all, kind: string, value: string) =>
      kind.toLowerCase() === "b"
        ? Buffer.from(value, "base64").toString()
        : quoted(value.replaceAll("_", " ")),
    );

const quoted = (text: string): string =>
  Buffer.from(
    text
      .replace(/=\r\n/g, "")
      .replace(/=([0-9A-F]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    "latin1",
  ).toString();

function decoded({ headers, body }: { headers: Record<string, string>; body: string }): string {
  const coding = headers["content-transfer-encoding"];
  if (coding === "base64") return Buffer.from(body, "base64").toString();
  return (coding === "quoted-printable" ? quoted(body) : body).replace(/\r\n/g, "\n");
}
