import type { Director } from "./director.js";
import type { Running } from "../servers.js";
import type { Crowd, Joined } from "./crowd.js";

/** A server with a crowd. */
export interface Hall {
  server: Running;
  crowd: Crowd;
  joined: Joined;
  /** What it cost the server that they joined, in seconds of processor time. */
  cost: number;
  /** Makes the server send to the crowd. It is not part of it. */
  director: Director;
}
