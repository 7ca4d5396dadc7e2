import { type Browser, firefox } from "playwright-core";
import { findFirefox } from "./chromium.js";
import { type Lifetime, LIMIT } from "./kit.js";

/** What speaks WebDriver BiDi within playwright-core, of which it shows nothing. */
interface Connection {
  send: (method: string, params?: unknown) => Promise<unknown>;
}

/** A command that the Firefox of Debian does not know yet: it stays as bright as it is. */
const NEWER = "emulation.setMediaFeaturesOverride";

/**
 * Starts the Firefox of the system, by WebDriver BiDi. It ends with the test.
 */
export async function openFirefox(t: Lifetime): Promise<Browser> {
  const executablePath = findFirefox();
  if (executablePath === undefined) throw new Error("There is no Firefox.");
  const browser = await firefox.launch({
    executablePath,
    channel: "moz-firefox",
    timeout: 4 * LIMIT,
    // Whatever a page asks of another host ends here.
    firefoxUserPrefs: {
      "network.proxy.type": 1,
      "network.proxy.http": "127.0.0.1",
      "network.proxy.http_port": 9,
      "network.proxy.ssl": "127.0.0.1",
      "network.proxy.ssl_port": 9,
      "network.proxy.no_proxies_on": "127.0.0.1",
    },
  });
  t.teardown(() => browser.close());
  const inner = browser as unknown as {
    _connection: {
      toImpl(of: unknown): { _browserSession: Connection };
    };
  };
  const session = inner._connection.toImpl(browser)._browserSession;
  const connection = Object.getPrototypeOf(session) as Connection;
  const { send } = connection;
  connection.send = async function (this: Connection, method, params) {
    try {
      return await send.call(this, method, params);
    } catch (error) {
      if (method !== NEWER) throw error;
      return {};
    }
  };
  return browser;
}
