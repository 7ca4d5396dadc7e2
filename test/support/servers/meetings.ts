import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { jwtVerify } from "jose";

// Stand-ins for BigBlueButton and Jitsi Meet. They verify the checksum and the token, and respond
// like the real servers.

interface Lifetime {
  teardown(work: () => unknown): void;
}

/**
 * A response to send instead of the proper one. `silence` keeps the connection open; `drip` never
 * ends.
 */
export type Fault =
  "silence" | "drip" | { status?: number; body?: string; headers?: Record<string, string> };

/** Serves a stand-in on 127.0.0.1. Returns its origin. */
async function serve(
  t: Lifetime,
  faultOf: () => Fault | undefined,
  answer: (request: IncomingMessage, body: string, response: ServerResponse) => void,
): Promise<string> {
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const fault = faultOf();
      if (fault === undefined) return answer(request, body, response);
      if (fault === "silence") return;
      if (fault === "drip") {
        const timer = setInterval(() => response.write(" "), 50);
        return response.on("close", () => clearInterval(timer));
      }
      response.writeHead(fault.status ?? 200, fault.headers).end(fault.body);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Returns XML of fields; a list repeats its element. */
function xml(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .flatMap(([name, value]) =>
      Array.isArray(value) ? value.map((it) => [name, it]) : [[name, value]],
    )
    .map(([name, value]) => {
      const inner =
        typeof value === "object" && value !== null
          ? xml(value as Record<string, unknown>)
          : escapeXml(String(value));
      return `<${name}>${inner}</${name}>`;
    })
    .join("");
}

/** A meeting of the stand-in. */
export interface StoredMeeting {
  parameters: Record<string, string>;
  createTime: string;
  /** The XML that was sent when the meeting was created. */
  xml: string;
  /** The parameters of everyone who followed a link. */
  joined: Record<string, string>[];
}

/** Starts a stand-in for BigBlueButton 3.0. */
export async function startBigBlueButton(t: Lifetime, secret = "bbb-".repeat(10)) {
  const meetings = new Map<string, StoredMeeting>();
  const recordings: Record<string, unknown>[] = [];
  const state: { fault: Fault | undefined; requests: number } = { fault: undefined, requests: 0 };
  const failed = (messageKey: string, message = "") =>
    ({ returncode: "FAILED", messageKey, message }) as Record<string, unknown>;

  function answerOf(call: string, query: Record<string, string>, body: string) {
    const meeting = meetings.get(query.meetingID ?? "");
    switch (call) {
      case "create": {
        if (!query.name || query.name.length < 2 || query.name.length > 256) {
          return failed("validationError", "Meeting name must be between 2 and 256 characters");
        }
        if (!query.meetingID || query.meetingID.includes(",")) return failed("validationError");
        if (query.voiceBridge !== undefined && !/^\d{5,}$/.test(query.voiceBridge)) {
          return failed("validationError", "Voice bridge must be a number");
        }
        if (meeting) {
          const isSame = ["attendeePW", "moderatorPW"].every(
            (name) => query[name] === meeting.parameters[name],
          );
          if (!isSame) return failed("idNotUnique");
        }
        const made = meeting ?? {
          parameters: query,
          createTime: String(1_700_000_000_000 + meetings.size),
          xml: body,
          joined: [],
        };
        meetings.set(query.meetingID, made);
        return {
          returncode: "SUCCESS",
          meetingID: query.meetingID,
          createTime: made.createTime,
          messageKey: meeting ? "duplicateWarning" : "",
        };
      }
      case "getMeetings":
        return { returncode: "SUCCESS", meetings: "" };
      case "getRecordings":
        return {
          returncode: "SUCCESS",
          recordings: {
            recording: recordings.filter(({ meetingID }) => meetingID === query.meetingID),
          },
        };
      case "join":
        if (!meeting) return failed("invalidMeetingIdentifier");
        if (!query.fullName) return failed("validationError");
        if (query.role !== "MODERATOR" && query.role !== "VIEWER") return failed("invalidPassword");
        if (query.createTime !== undefined && query.createTime !== meeting.createTime) {
          return failed("mismatchCreateTimeParam");
        }
        meeting.joined.push(query);
        return { returncode: "SUCCESS", messageKey: "successfullyJoined" };
      default:
        return failed("unsupportedRequest");
    }
  }

  const origin = await serve(
    t,
    () => state.fault,
    (request, body, response) => {
      state.requests++;
      const [, call = "", raw = ""] =
        /^\/bigbluebutton\/api\/(\w+)\?(.*)$/.exec(request.url!) ?? [];
      const [, signed = "", checksum] = /^(.*?)&?checksum=(\w+)$/.exec(raw) ?? [];
      const expected = createHash("sha256")
        .update(call + signed + secret)
        .digest("hex");
      const answer =
        checksum === expected
          ? answerOf(call, Object.fromEntries(new URLSearchParams(signed)), body)
          : failed("checksumError", "You did not pass the checksum security check");
      response.writeHead(200, { "content-type": "text/xml" });
      response.end(`<response>${xml(answer)}</response>`);
    },
  );
  const url = `${origin}/bigbluebutton/`;
  return {
    url,
    secret,
    meetings,
    recordings,
    state,
    variables: { BBB_URL: url, BBB_SECRET: secret },
  };
}

/** Starts a stand-in for Jitsi Meet with token authentication. */
export async function startJitsi(t: Lifetime, secret = "jitsi-".repeat(8)) {
  const appId = "foyer";
  const joined: { room: string; user: Record<string, unknown> }[] = [];
  const state: { fault: Fault | undefined } = { fault: undefined };
  const origin = await serve(
    t,
    () => state.fault,
    (request, _body, response) => {
      const { pathname, searchParams } = new URL(request.url!, "http://x");
      if (pathname === "/config.js") return void response.end("var config = {};");
      const room = decodeURIComponent(pathname.slice(1)).toLowerCase();
      jwtVerify(searchParams.get("jwt") ?? "", new TextEncoder().encode(secret), {
        algorithms: ["HS256"],
        issuer: appId,
        audience: "jitsi",
        requiredClaims: ["exp", "room", "sub"],
      }).then(
        ({ payload }) => {
          if (payload.room !== room && payload.room !== "*") return response.writeHead(403).end();
          const { user } = payload.context as { user: Record<string, unknown> };
          joined.push({ room, user });
          return response.end("<!doctype html>");
        },
        () => response.writeHead(401).end(),
      );
    },
  );
  const url = `${origin}/`;
  return {
    url,
    appId,
    secret,
    joined,
    state,
    variables: { JITSI_URL: url, JITSI_APP_ID: appId, JITSI_APP_SECRET: secret },
  };
}
