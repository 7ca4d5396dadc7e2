import { createHash, createHmac } from "node:crypto";
import { XMLParser } from "fast-xml-parser";
import type { CallSettings } from "../../config.js";
import { clockFault, type EngineAnswer, EngineHttp, type ObserveRequest } from "./engine-http.js";
import {
  type BigBlueButton,
  EngineUnavailable,
  type Meeting,
  type MeetingUser,
  type EngineRecording,
} from "./engine.js";

/** Elements that a response may contain repeatedly, and that are always parsed as lists. */
const LISTS = new Set(["recording", "format"]);

const parser = new XMLParser({
  parseTagValue: false,
  ignoreAttributes: true,
  // Responses with a document type are rejected, so the only entities are XML's five predefined
  // entities.
  htmlEntities: false,
  isArray: (name) => LISTS.has(name),
});

type Element = Record<string, unknown>;

/** Limits for the length of a BigBlueButton meeting's name, in characters. */
const MIN_TITLE = 2;
const MAX_TITLE = 256;

const flag = (value: boolean | undefined) => (value === true ? "true" : "false");

/**
 * Runs BigBlueButton meetings, with the same parameters that Venueless sends.
 *
 * See https://docs.bigbluebutton.org/development/api
 */
export class BigBlueButtonServer implements BigBlueButton {
  readonly origin: string;
  readonly #url: string;
  readonly #secret: string;
  readonly #http: EngineHttp;

  constructor(
    { url, secret }: NonNullable<CallSettings["bigbluebutton"]>,
    observe?: ObserveRequest,
  ) {
    this.origin = new URL(url).origin;
    this.#url = url;
    this.#secret = secret;
    this.#http = new EngineHttp("bigbluebutton", observe);
  }

  async joinUrl(meeting: Meeting, user: MeetingUser): Promise<string> {
    const created = await this.#create(meeting);
    const { options } = meeting;
    return this.#link("join", {
      meetingID: meeting.id,
      fullName: fullName(user.name),
      userID: user.id,
      role: user.moderate ? "MODERATOR" : "VIEWER",
      // With `createTime`, a link stops working when the meeting for which it was created ends.
      ...(created !== undefined && { createTime: created }),
      joinViaHtml5: "true",
      ...(user.avatarUrl !== undefined && { avatarURL: user.avatarUrl }),
      guest: flag(options.waiting_room && !user.moderate),
      "userdata-bbb_show_public_chat_on_login": "false",
      "userdata-bbb_skip_check_audio": "true",
      "userdata-bbb_listen_only_mode": flag(!options.auto_microphone),
      "userdata-bbb_auto_share_webcam": flag(options.auto_camera),
      "userdata-bbb_skip_video_preview": flag(options.auto_camera),
      "userdata-bbb_hide_presentation_on_join": flag(options.hide_presentation),
    });
  }

  async recordings(meeting: string): Promise<EngineRecording[]> {
    const answer = await this.#ask("getRecordings", { meetingID: meeting, state: "any" });
    const list = childOf(answer, "recordings").recording;
    return Array.isArray(list) ? (list as Element[]).map((it) => this.#recording(it)) : [];
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#ask("getMeetings", {});
      return undefined;
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      return `${error.fault} (${this.#url})`;
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /**
   * Creates a meeting. If the meeting is already running, nothing changes.
   * @returns the meeting's `createTime`.
   */
  async #create({ id, title, options, logoutUrl }: Meeting): Promise<string | undefined> {
    const parameters = {
      name: title.length < MIN_TITLE ? `Room ${title}` : title.slice(0, MAX_TITLE),
      meetingID: id,
      // Creating a running meeting again succeeds only with the same passwords, so the passwords
      // are derived from the meeting's id. Links do not contain passwords.
      attendeePW: this.#password(`attendee ${id}`),
      moderatorPW: this.#password(`moderator ${id}`),
      record: flag(options.record),
      "meta_bbb-origin": "foyer",
      muteOnStart: flag(options.bbb_mute_on_start),
      lockSettingsDisablePrivateChat: "true",
      lockSettingsDisableCam: flag(options.bbb_disable_cam),
      lockSettingsDisablePublicChat: flag(options.bbb_disable_chat),
      guestPolicy: options.waiting_room ? "ASK_MODERATOR" : "ALWAYS_ACCEPT",
      ...(options.voice_bridge && { voiceBridge: options.voice_bridge }),
      ...(logoutUrl !== undefined && { logoutURL: logoutUrl }),
    };
    const { presentation } = options;
    const answer = await this.#ask(
      "create",
      parameters,
      presentation !== undefined && isWebAddress(presentation)
        ? `<modules><module name="presentation"><document url="${escapeXml(presentation)}"/></module></modules>`
        : undefined,
    );
    return textOf(answer, "createTime") || undefined;
  }

  /** @throws {EngineUnavailable} if the server does not respond properly, or refuses the call. */
  #ask(call: string, parameters: Record<string, string>, xml?: string): Promise<Element> {
    const url = this.#link(call, parameters);
    const post = xml !== undefined && {
      body: xml,
      headers: { "content-type": "application/xml" },
    };
    return this.#http.ask({ url, ...post }, (answer) => this.#read(answer));
  }

  #read({ status, text, skew }: EngineAnswer): Element {
    const late = clockFault(skew);
    if (late !== undefined) throw this.#http.unavailable(late);
    if (status !== 200) throw this.#http.unavailable(`answers with the status ${status}`);
    let response: Element;
    try {
      // No response needs a document type, whose entities could expand to an enormous size.
      if (/<!DOCTYPE/i.test(text)) throw new Error("It has a document type.");
      response = childOf(parser.parse(text) as Element, "response");
    } catch (error) {
      throw this.#http.unavailable("sends an answer that cannot be read", error);
    }
    if (textOf(response, "returncode") === "SUCCESS") return response;
    const key = textOf(response, "messageKey");
    if (key === "checksumError") throw this.#http.unavailable("refuses BBB_SECRET");
    if (!/^\w{1,100}$/.test(key)) {
      throw this.#http.unavailable("sends an answer that cannot be read");
    }
    throw this.#http.unavailable(`refuses the call: ${key}`);
  }

  #link(call: string, parameters: Record<string, string>): string {
    const query = new URLSearchParams(parameters).toString();
    const checksum = createHash("sha256")
      .update(call + query + this.#secret)
      .digest("hex");
    const separator = query === "" ? "" : "&";
    return `${this.#url}api/${call}?${query}${separator}checksum=${checksum}`;
  }

  #password(text: string): string {
    return createHmac("sha256", this.#secret).update(text).digest("hex").slice(0, 32);
  }

  #recording(it: Element): EngineRecording {
    const formats = childOf(it, "playback").format;
    const urls = new Map(
      (Array.isArray(formats) ? (formats as Element[]) : []).map((format) => [
        textOf(format, "type").toLowerCase(),
        // BigBlueButton may omit the host.
        textOf(format, "url").replace(/^https?:\/\/\//, new URL("/", this.#url).href),
      ]),
    );
    const urlOf = (type: string) => {
      const url = urls.get(type);
      return url !== undefined && isWebAddress(url) ? url : null;
    };
    return {
      start: timeOf(textOf(it, "startTime")),
      end: timeOf(textOf(it, "endTime")),
      participants: Number(textOf(it, "participants")) || 0,
      state: textOf(it, "state"),
      url: urlOf("presentation"),
      url_video: urlOf("video"),
      url_screenshare: urlOf("screenshare"),
      url_notes: urlOf("notes"),
    };
  }
}

/** Returns an element's only child with this name, or an empty element if there is no such child. */
function childOf(element: Element, name: string): Element {
  const child = element[name];
  return typeof child === "object" && child !== null ? (child as Element) : {};
}

/** Returns the text of an element's child with this name, or an empty string if there is no such child. */
function textOf(element: Element, name: string): string {
  const child = element[name];
  return typeof child === "string" ? child.trim() : "";
}

function timeOf(milliseconds: string): string {
  const time = new Date(Number(milliseconds));
  return Number.isNaN(time.getTime()) ? new Date(0).toISOString() : time.toISOString();
}

/** Prepares a person's name. Colons are removed, because some versions of BigBlueButton cut off a name at a colon. */
const fullName = (name: string) => name.replaceAll(":", "").trim() || "?";

const isWebAddress = (text: string) =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

const escapeXml = (text: string) => text.replace(/[&<>"']/g, (char) => ENTITIES[char]!);
