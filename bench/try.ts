import { callersOf } from "./event.js";
import { newEvent, startBare, startFoyer, newFolder } from "./servers.js";
import { load as wrk } from "./load.js";
import { readFileSync } from "node:fs";
const cpu = (pid: number) => { const f = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" "); return (Number(f[11]) + Number(f[12])) * 10000; };
const load = async (s: {port: number; pid: number}, l: any) => { const c = cpu(s.pid); const o = await wrk(s.port, l); return { rate: 1e6 * o.rate * l.seconds / (cpu(s.pid) - c), real: o.rate }; };
const dataDir = await newEvent({ bench: { rooms: 100 } });
const foyer = await startFoyer(dataDir);
const headers = callersOf("bench").map((authorization) => ({ authorization }));
const get = async (path: string) => (await fetch(`http://127.0.0.1:${foyer.port}${path}`, { headers: headers[0]! })).json() as any;
const world = await get("/api/v1/worlds/bench/");
const page = await get("/api/v1/worlds/bench/rooms/");
const room = page.results[0];
const bare = await startBare({ world, room, page, media: newFolder() });
const seconds = Number(process.env.SECONDS ?? 2);
const pairs: [string, string, string][] = [
  ["GET room", `/api/v1/worlds/bench/rooms/${room.id}/`, "/room"],
  ["GET world", `/api/v1/worlds/bench/`, "/world"],
  ["GET rooms", `/api/v1/worlds/bench/rooms/`, "/rooms"],
];
for (const [name, a, b] of pairs) {
  if (process.env.ONLY && process.env.ONLY !== name) continue;
  for (let i = 0; i < Number(process.env.ROUNDS ?? 3); i++) {
    const x = await load(foyer, { requests: headers.map((h) => ({ path: a, headers: h })), connections: 64, seconds });
    const y = await load(bare, { requests: [{ path: b }], connections: 64, seconds });
    console.log(name, Math.round(x.rate), Math.round(y.rate), (x.rate / y.rate).toFixed(2), 'wall', Math.round(x.real), Math.round(y.real), (x.real / y.real).toFixed(2));
  }
}
await foyer.stop(); process.kill(bare.pid, "SIGINT"); await new Promise((r) => setTimeout(r, 1000));
process.exit();
