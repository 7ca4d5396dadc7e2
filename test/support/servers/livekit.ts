import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { until } from "../helper.js";
import { freePort } from "./port.js";

/** The version that tests use. Later versions cannot be built from the Go module proxy alone. */
export const LIVEKIT_VERSION = "v1.9.12";

/** A test's LiveKit server, on 127.0.0.1. */
export interface LiveKitServer {
  /** For browsers: `ws://127.0.0.1:<port>`. */
  url: string;
  apiUrl: string;
  key: string;
  secret: string;
  /** The variables that make Foyer use this server. */
  variables: Record<string, string>;
  /** The equivalent of `config.calls.livekit`. */
  settings: { url: string; apiUrl: string; key: string; secret: string };
  /** The id of its process, which a restart changes. */
  readonly pid: number;
  /** Kills the server like a crash would: it loses all state. */
  stop(): Promise<void>;
  /** Restarts it on the same ports. */
  restart(): Promise<void>;
  /** Suspends it; connections stay open. */
  pause(): void;
  resume(): void;
}

/** Finds LiveKit: the variable LIVEKIT_SERVER, or `livekit-server` on the PATH or in ~/go/bin. */
export function findLiveKit(env = process.env): string | undefined {
  const { LIVEKIT_SERVER, PATH = "" } = env;
  const places = LIVEKIT_SERVER
    ? [LIVEKIT_SERVER]
    : [...PATH.split(delimiter), join(homedir(), "go/bin")].map((folder) =>
        join(folder, "livekit-server"),
      );
  return places.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Why a test that needs LiveKit is skipped; false if it runs. */
export const noLiveKit = !findLiveKit() && "no livekit-server: set LIVEKIT_SERVER";

/**
 * Starts LiveKit for a test.
 * @param options.webhook where it sends its webhooks.
 * @throws {Error} with install instructions, if it is missing.
 */
export async function startLiveKit(
  t: { teardown(work: () => unknown): void },
  { webhook }: { webhook?: string } = {},
): Promise<LiveKitServer> {
  const path = findLiveKit();
  if (path === undefined) {
    throw new Error(
      `LiveKit is not installed: go install github.com/livekit/livekit-server/cmd/server@${LIVEKIT_VERSION}, and set LIVEKIT_SERVER to its path`,
    );
  }
  const [port, tcp, udp] = [await freePort(), await freePort(), await freePort()];
  const key = "foyer";
  const secret = randomBytes(24).toString("hex");
  const apiUrl = `http://127.0.0.1:${port}`;
  // YAML is a superset of JSON.
  const config = JSON.stringify({
    port,
    bind_addresses: ["127.0.0.1"],
    rtc: {
      tcp_port: tcp,
      udp_port: udp,
      node_ip: "127.0.0.1",
      use_external_ip: false,
      enable_loopback_candidate: true,
    },
    keys: { [key]: secret },
    logging: { level: "error" },
    ...(webhook !== undefined && { webhook: { api_key: key, urls: [webhook] } }),
  });
  let child: ChildProcess | undefined;

  async function stop(): Promise<void> {
    if (!child) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    child = undefined;
    await ended;
  }

  async function restart(): Promise<void> {
    await stop();
    const started = spawn(path!, ["--config-body", config, "--node-ip", "127.0.0.1"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    child = started;
    await until(async () => {
      if (started.exitCode !== null) throw new Error("LiveKit has ended.");
      return fetch(apiUrl).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  }

  t.teardown(stop);
  await restart();
  const settings = { url: `ws://127.0.0.1:${port}`, apiUrl, key, secret };
  return {
    ...settings,
    settings,
    get pid() {
      if (child?.pid === undefined) throw new Error("LiveKit does not run.");
      return child.pid;
    },
    variables: {
      LIVEKIT_URL: settings.url,
      LIVEKIT_API_KEY: key,
      LIVEKIT_API_SECRET: secret,
    },
    stop,
    restart,
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
  };
}
