import { createHmac } from "node:crypto";
import { SignJWT } from "jose";
import type { CallSettings } from "../../config.js";
import { clockFault, EngineHttp, type ObserveRequest } from "./engine-http.js";
import { EngineUnavailable, type Jitsi, type MeetingUser } from "./engine.js";

/**
 * Creates links to Jitsi Meet that use its token authentication.
 *
 * See https://github.com/jitsi/lib-jitsi-meet/blob/master/doc/tokens.md
 */
export class JitsiServer implements Jitsi {
  readonly origin: string;
  readonly #settings: NonNullable<CallSettings["jitsi"]>;
  readonly #key: Uint8Array;
  readonly #http: EngineHttp;

  constructor(settings: NonNullable<CallSettings["jitsi"]>, observe?: ObserveRequest) {
    this.origin = new URL(settings.url).origin;
    this.#settings = settings;
    this.#key = new TextEncoder().encode(settings.secret);
    this.#http = new EngineHttp("jitsi", observe);
  }

  async joinUrl(room: string, title: string, user: MeetingUser, expires: number): Promise<string> {
    const { url, appId } = this.#settings;
    const name = this.#nameOf(room);
    const context = {
      user: {
        id: user.id,
        name: user.name,
        ...(user.avatarUrl !== undefined && { avatar: user.avatarUrl }),
        // Read by Jitsi's modules token_moderation and token_affiliation, respectively.
        moderator: user.moderate,
        affiliation: user.moderate ? "owner" : "member",
      },
    };
    const token = await new SignJWT({ room: name, context })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .setIssuer(appId)
      .setAudience("jitsi")
      // Any tenant, because Jitsi's internal domain differs from the domain in Jitsi's public
      // address.
      .setSubject("*")
      .setNotBefore(Math.floor(Date.now() / 1000) - 60)
      .setExpirationTime(Math.floor(expires))
      .sign(this.#key);
    const subject = encodeURIComponent(JSON.stringify(title));
    return `${url}${name}?jwt=${token}#config.subject=${subject}`;
  }

  async check(): Promise<string | undefined> {
    const { url } = this.#settings;
    try {
      return await this.#http.ask({ url: `${url}config.js` }, ({ status, skew }) => {
        if (status !== 200) throw this.#http.unavailable(`answers with the status ${status}`);
        const late = clockFault(skew);
        if (late !== undefined) throw this.#http.unavailable(late);
        return undefined;
      });
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      return `${error.fault} (${url})`;
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /**
   * Returns a room's name on the Jitsi server. The name is a hash, because Jitsi ignores case in
   * names, and a slash would denote a tenant.
   */
  #nameOf(room: string): string {
    return createHmac("sha256", this.#key).update(room).digest("hex").slice(0, 32);
  }
}
