import { printNotes } from "../crowd/notes.js";
import { measure, print, type Result, say } from "../rounds.js";
import { startEngines } from "./engines.js";
import { openDesks, reads } from "./reads.js";
import { name as rolling, rollingRestart } from "./rolling.js";
import { openRooms, roomWorks } from "./rooms.js";

// `npm run bench nodes [part of a name …]` measures several nodes on a shared PostgreSQL
// and Valkey, which it starts. ROUNDS and SECONDS set the duration, and PEOPLE the number
// of people in the room.

const wanted = process.argv.slice(3);
const chosen = <W extends { name: string }>(works: W[]) =>
  works.filter(
    ({ name }) => !wanted.length || wanted.some((part) => name.includes(part)),
  );

const results: Result[] = [];
const engines = await startEngines();
try {
  const readWorks = chosen(reads);
  if (readWorks.length) {
    say("Two worlds of 100,000 rooms are made");
    const desks = await openDesks(engines);
    results.push(...(await measure(readWorks, desks)));
    await desks.stop();
  }
  const rooms = chosen(roomWorks);
  if (rooms.length) {
    say("People join on one, two and three nodes");
    const opened = await openRooms(engines);
    results.push(...(await measure(rooms, opened)));
    await opened.stop();
  }
  if (chosen([{ name: rolling }]).length) {
    say(rolling);
    await rollingRestart(engines);
  }
} finally {
  await engines.stop();
}
say("");
if (results.length) print(results);
printNotes();
