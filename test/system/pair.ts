import type { Test } from "tap";
import { type ServerProcess, startFoyer, until } from "../helper.js";
import { Person, shortFolder, signer } from "./person.js";
import { request } from "./requests.js";

/** A server of two processes. */
export interface Pair {
  server: ServerProcess;
  dataDir: string;
  /** The processes that serve now. */
  workers: () => number[];
  sign: Awaited<ReturnType<typeof signer>>;
  /** Sends a request to the API with all rights. */
  api: (method: string, path: string, body?: unknown) => Promise<unknown>;
}

/**
 * Starts a server of two processes with the demo.
 * @param dataDir a folder of its own by default.
 */
export async function startPair(
  t: Test,
  env: Record<string, string> = {},
  dataDir = shortFolder(t),
): Promise<Pair> {
  const server = await startFoyer(t, dataDir, ["--demo"], {
    WORKERS: "2",
    LOG_LEVEL: "info",
    METRICS_PORT: "0",
    ...env,
  });
  const workers = () =>
    [...server.said.stdout.matchAll(/"pid":(\d+).*"Server listening/g)].map(
      ([, pid]) => Number(pid),
    );
  await until(() => workers().length === 2);
  const sign = await signer(dataDir);
  const { token } = sign("root", "admin", "api");
  const api = async (method: string, path: string, body?: unknown) => {
    const answer = await request(
      { address: server.address, token },
      `sample/${path}`,
      method,
      body,
    );
    if (answer.status < 300) return answer.body;
    throw new Error(JSON.stringify(answer));
  };
  return { server, dataDir, workers, sign, api };
}

/** Connects to one of the processes. */
export async function connectTo(
  t: Test,
  { server, workers }: Pair,
  pid: number,
): Promise<Person> {
  const others = workers().filter((one) => one !== pid && isAlive(one));
  // A process that is stopped takes no connection.
  for (const other of others) process.kill(other, "SIGSTOP");
  try {
    return await Person.connect(t, server.port);
  } finally {
    for (const other of others) process.kill(other, "SIGCONT");
  }
}

/** Whether there is such a process. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
