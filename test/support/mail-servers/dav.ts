import fs from 'node:fs/promises';
import path from 'node:path';
import { Daemon, freePorts, removeFolder, serverFolder } from './processes.ts';

/** A CalDAV and CardDAV server in a temporary folder. */
export interface DavServer {
  /** Base URL. The home of an account is `<url>/<user>/`. */
  url: string;
  addUser(user: string, password: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a real Radicale (3.1). Its users have passwords, and each owns their own collections. */
export async function startRadicale(): Promise<DavServer> {
  const folder = await serverFolder('radicale');
  const [port = 0] = await freePorts(1);
  const passwords = path.join(folder, 'htpasswd');
  await fs.writeFile(passwords, '');
  await fs.writeFile(
    path.join(folder, 'config'),
    `[server]
hosts = 127.0.0.1:${port}
max_connections = 50
[auth]
type = htpasswd
htpasswd_filename = ${passwords}
htpasswd_encryption = plain
delay = 0
[rights]
type = owner_only
[storage]
filesystem_folder = ${folder}/data
[web]
type = none
[logging]
level = error
`,
  );
  const daemon = new Daemon('radicale', ['--config', path.join(folder, 'config')]);
  await daemon.listening(port);
  return {
    url: `http://127.0.0.1:${port}`,
    addUser: (user, password) => fs.appendFile(passwords, `${user}:${password}\n`),
    stop: async () => {
      await daemon.stop();
      await removeFolder(folder);
    },
  };
}

/**
 * Starts a real Xandikos (0.2). It has one user, whose principal is `/alice/` and who needs no
 * password.
 */
export async function startXandikos(): Promise<DavServer> {
  const folder = await serverFolder('xandikos');
  const [port = 0] = await freePorts(1);
  const daemon = new Daemon('xandikos', [
    '-l',
    '127.0.0.1',
    '-p',
    String(port),
    '-d',
    folder,
    '--defaults',
    '--current-user-principal',
    '/alice/',
  ]);
  await daemon.listening(port);
  return {
    url: `http://127.0.0.1:${port}`,
    addUser: () => Promise.resolve(),
    stop: async () => {
      await daemon.stop();
      await removeFolder(folder);
    },
  };
}
