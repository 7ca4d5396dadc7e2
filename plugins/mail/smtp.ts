import { Readable } from "node:stream";
import type SMTPConnection from "nodemailer/lib/smtp-connection/index.js";
import type { MailSettings } from "../../config.js";
import { truncate } from "../../schemas/plain/texts.js";
import { isLoopback } from "../../schemas/plain/config/variables.js";

/** A mail to transmit. */
export interface Letter {
  readonly to: { readonly name: string; readonly address: string };
  readonly from: { readonly name: string; readonly address: string };
  readonly replyTo?: string | undefined;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Further headers, such as `List-Unsubscribe`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Identifies the mail, in its `Message-ID`. */
  readonly id: string;
}

/**
 * The result of transmitting a mail:
 *
 * - `taken`: the mail server accepted responsibility for the mail.
 * - `refused`: the mail server permanently rejected this mail.
 * - `later`: the mail server does not have the mail, so it may be sent again.
 * - `unknown`: the connection was lost after the transmission of the content had begun. The mail
 *   server may have accepted the mail.
 */
export type Transmission =
  | { readonly result: "taken" }
  | {
      readonly result: "refused" | "later" | "unknown";
      /** The mail server's reply, or a description of the error. */
      readonly reason: string;
      /** Whether the reply concerns this mail, and not the connection. */
      readonly ofMail: boolean;
    };

/** The properties of the SMTP client's errors that this module uses. */
interface SmtpError extends Error {
  code?: string;
  /** The command that failed. */
  command?: string;
  response?: string;
  responseCode?: number;
}

/** Maximum length of a reason, in characters. */
const MAX_REASON = 200;

/**
 * The commands whose refusal concerns this mail. A refusal of any other command concerns the server
 * itself, such as wrong credentials, so the mail waits until the operator has fixed it.
 */
const OF_MAIL = new Set(["MAIL FROM", "RCPT TO", "DATA"]);

/** Formats a mail for transmission (RFC 5322). */
export async function bytesOf({ id, from, to, headers, ...texts }: Letter): Promise<Buffer> {
  const { default: MailComposer } = await import("nodemailer/lib/mail-composer");
  const domain = from.address.slice(from.address.lastIndexOf("@") + 1);
  const composer = new MailComposer({
    ...texts,
    from: { ...from },
    to: { ...to },
    headers: { ...headers },
    messageId: `<${id}@${domain}>`,
    // Users write these texts, so the texts must never cause a file or a URL to be read.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

/** Sends a mail over a separate connection. Never rejects. */
export async function transmit(settings: MailSettings, letter: Letter): Promise<Transmission> {
  let hasBegun = false;
  try {
    const { from, to } = letter;
    const bytes = await bytesOf(letter);
    // The client reads the message only when the server asks for it.
    const message = new Readable({
      read() {
        hasBegun = true;
        this.push(bytes);
        this.push(null);
      },
    });
    await withConnection(settings, async (connection) => {
      const envelope = { from: from.address, to: [to.address] };
      await new Promise<void>((resolve, reject) => {
        connection.send(envelope, message, (error) => {
          if (error) reject(error);
          else resolve();
        });
      });
    });
    return { result: "taken" };
  } catch (error) {
    return failureOf(error as SmtpError, hasBegun);
  }
}

/**
 * Checks whether the mail server responds and accepts the user and the password. Sends nothing.
 * @returns the problem, for the operator; undefined if there is none. Never rejects.
 */
export async function checkMail(settings: MailSettings): Promise<string | undefined> {
  try {
    await withConnection(settings, async () => {});
    return undefined;
  } catch (error) {
    const { code } = error as SmtpError;
    const what = code === "EAUTH" ? "refuses the user or the password" : "does not work";
    return `${what}: ${reasonOf(error as Error)}`;
  }
}

/** Opens a connection for one mail, and closes it afterward. */
async function withConnection(
  { url, timeout }: MailSettings,
  work: (connection: SMTPConnection) => Promise<void>,
): Promise<void> {
  const { default: Connection } = await import("nodemailer/lib/smtp-connection");
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === "smtps:";
  const isLocal = isLoopback(hostname);
  const connection = new Connection({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (secure ? 465 : 587) : Number(port),
    secure,
    // A local connection cannot be intercepted, and certificates rarely match local names.
    ignoreTLS: isLocal,
    // Never sends a password unencrypted.
    requireTLS: !isLocal && username !== "",
    connectionTimeout: timeout,
    greetingTimeout: timeout,
    socketTimeout: timeout,
  });
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<never>((_resolve, reject) => {
    connection.on("error", reject);
    connection.on("end", () => reject(new Error("The mail server closed the connection.")));
    timer = setTimeout(() => reject(new Error("The mail server took too long.")), timeout);
  });
  // The connection also ends after a successful transmission, when nobody awaits this promise.
  ended.catch(() => {});
  try {
    await Promise.race([
      ended,
      (async () => {
        await new Promise<void>((resolve, reject) => {
          connection.connect((error) => (error ? reject(error) : resolve()));
        });
        if (username !== "") {
          const credentials = {
            user: decodeURIComponent(username),
            pass: decodeURIComponent(password),
          };
          await new Promise<void>((resolve, reject) => {
            connection.login({ credentials }, (error) => (error ? reject(error) : resolve()));
          });
        }
        await work(connection);
      })(),
    ]);
    connection.quit();
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function failureOf(error: SmtpError, hasBegun: boolean): Transmission {
  const { code = "", responseCode = 0, command = "" } = error;
  const reason = reasonOf(error);
  const ofMail = OF_MAIL.has(command);
  // The client itself refuses an address that the mail server does not support.
  const isOdd = code === "EENVELOPE" && responseCode === 0;
  if (isOdd || (responseCode >= 500 && ofMail)) return { result: "refused", reason, ofMail: true };
  // Without a reply to the message, it is unknown whether the mail server has it.
  if (hasBegun && responseCode === 0) return { result: "unknown", reason, ofMail: true };
  return { result: "later", reason, ofMail };
}

/**
 * Returns the reason for a failure, without e-mail addresses, because reasons are kept after people
 * are erased.
 */
export function reasonOf(error: Error): string {
  const { response, message } = error as SmtpError;
  const words = (response ?? message)
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .split(" ");
  return truncate(words.map((word) => (word.includes("@") ? "…" : word)).join(" "), MAX_REASON);
}
