import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/browser";
import { Foyer } from "../../client/index.js";
import type { components } from "../../client/api.js";
import type { PageConfig } from "../lib/page.js";
import { claimsOf, type Identity } from "./identity.js";
import type { Session } from "./session.js";

// Passkeys, and the other ways in which people return.

type Schemas = components["schemas"];
export type Passkey = Schemas["Passkey"];
export type Ways = Schemas["Ways"];

/** The part of `Window` that determines whether a page can use passkeys. */
export interface PasskeyWindow {
  readonly isSecureContext: boolean;
  readonly location: Pick<Location, "hostname">;
  readonly PublicKeyCredential?: unknown;
}

/**
 * Whether this page can use passkeys: they belong to the host name under which the server is
 * configured.
 */
export const hasPasskeys = (
  { world, passkeys, embed }: Pick<PageConfig, "world" | "passkeys" | "embed">,
  { isSecureContext, location, PublicKeyCredential }: PasskeyWindow = window,
): boolean =>
  world !== null &&
  embed === null &&
  isSecureContext &&
  PublicKeyCredential !== undefined &&
  location.hostname === passkeys;

/**
 * Why a ceremony failed. `canceled`: the person or the device declined, or it took too long.
 * `known`: the device already has a passkey for this person. `unknown`: the event does not know the
 * passkey, or no longer admits its owner.
 */
export type PasskeyProblem = "canceled" | "known" | "unknown";

/** Returns the reason for a failed ceremony, or undefined for any other error. */
export function problemOf(error: unknown): PasskeyProblem | undefined {
  const { name, status } = error as { name?: string; status?: number };
  if (name === "NotAllowedError" || name === "AbortError") return "canceled";
  if (name === "InvalidStateError") return "known";
  return status === 401 || status === 403 ? "unknown" : undefined;
}

const load = () => import("@simplewebauthn/browser");

/**
 * Signs in with a passkey that the person chooses.
 * @throws {FoyerError} and errors of the browser; see {@link problemOf}.
 */
export async function signInWithPasskey(baseUrl: string, world: string): Promise<Identity> {
  const api = new Foyer({ baseUrl, world });
  const [{ startAuthentication }, begun] = await Promise.all([
    load(),
    api.request("POST", "/passkeys/login/options/"),
  ]);
  const { options, state } = (await begun.json()) as Schemas["PasskeyOptions"];
  const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  const response = await startAuthentication({ optionsJSON });
  const answer = await api.request("POST", "/passkeys/login/", { state, response });
  const { token, client_id } = (await answer.json()) as Schemas["PasskeySession"];
  return token === undefined ? { clientId: client_id! } : { token };
}

/**
 * Adds a passkey of this device to the session's person.
 * @throws {FoyerError} and errors of the browser; see {@link problemOf}.
 */
export async function addPasskey({ api }: Pick<Session, "api">, name: string): Promise<void> {
  const [{ startRegistration }, begun] = await Promise.all([
    load(),
    api.request("POST", "/passkeys/options/"),
  ]);
  const { options, state } = (await begun.json()) as Schemas["PasskeyOptions"];
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  const response = await startRegistration({ optionsJSON });
  await api.request("POST", "/passkeys/", { state, name, response });
}

export async function listPasskeys({ api }: Pick<Session, "api">): Promise<readonly Passkey[]> {
  const answer = await api.request("GET", "/passkeys/");
  return ((await answer.json()) as Schemas["PasskeyList"]).results;
}

export async function removePasskey({ api }: Pick<Session, "api">, id: string): Promise<void> {
  await api.request("DELETE", `/passkeys/${encodeURIComponent(id)}/`);
}

export async function waysOf({ api }: Pick<Session, "api">): Promise<Ways> {
  return (await (await api.request("GET", "/ways/")).json()) as Ways;
}

/** Whether the person can come back after signing out. */
export const hasWay = ({ passkeys, email, recovery }: Ways): boolean =>
  passkeys > 0 || email || recovery;

/**
 * Returns the e-mail address in a person's own invitation. Only people who may invite can read it.
 */
export async function emailOf({ api }: Pick<Session, "api">, invitation: string): Promise<string> {
  const answer = await api.request("GET", `/invitations/${invitation}/`);
  return ((await answer.json()) as Schemas["Invitation"]).email ?? "";
}

/** Changes the e-mail address in a person's own invitation. An empty address removes it. */
export async function changeEmail(
  { api }: Pick<Session, "api">,
  invitation: string,
  email: string,
): Promise<void> {
  await api.request("PATCH", `/invitations/${invitation}/`, { email: email.trim() || null });
}

/** Creates a recovery link, which revokes the person's previous one. */
export async function makeRecoveryLink({ api }: Pick<Session, "api">): Promise<string> {
  const answer = await api.request("POST", "/ways/recovery/");
  return ((await answer.json()) as Schemas["RecoveryLink"]).url;
}

/** Whether a token belongs to a recovery link. Creating a new link revokes it. */
export const isRecovery = (token: string | undefined): boolean => {
  const jti = token === undefined ? undefined : claimsOf(token)?.["jti"];
  return typeof jti === "string" && /\.r\d+$/.test(jti);
};

const SYSTEMS = ["Windows", "Android", "iPhone", "iPad", "Mac", "Linux"] as const;
const BROWSERS = {
  "Edg/": "Edge",
  "Firefox/": "Firefox",
  "Chrome/": "Chrome",
  "Safari/": "Safari",
};

/** Returns a name by which people recognize this device, such as `Firefox, Windows`. */
export function deviceName(userAgent: string): string {
  const system = SYSTEMS.find((it) => userAgent.includes(it));
  const browser = Object.entries(BROWSERS).find(([sign]) => userAgent.includes(sign))?.[1];
  return [browser, system].filter((it) => it !== undefined).join(", ") || "Passkey";
}

const DAY_MS = 24 * 60 * 60_000;

/** How long before its end people are warned at the earliest, in milliseconds. */
const WARNING_MS = 3 * DAY_MS;

/**
 * Returns when a session ends, in milliseconds since 1970, if that is soon: within three days, or
 * within the last tenth of a short session.
 */
export function endsSoon(token: string | undefined, now: number): number | undefined {
  const { exp, iat } = (token === undefined ? undefined : claimsOf(token)) ?? {};
  if (typeof exp !== "number" || typeof iat !== "number") return undefined;
  const warning = Math.min(WARNING_MS, ((exp - iat) * 1000) / 10);
  const end = exp * 1000;
  return now < end && end - now <= warning ? end : undefined;
}
