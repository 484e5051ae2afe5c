import fs from 'node:fs';
import path from 'node:path';

/*
 * PostgreSQL refuses to run as root. Under root, the embedded server therefore runs with a user id
 * that no account and no other program has. A process with the same id could open the files of the
 * server through /proc, and its shared memory (docs/adr/0130).
 */

/** Ids of a user and a group. */
export interface Account {
  uid: number;
  gid: number;
}

/** Ids that Linux distributions leave free (systemd.io/UIDS-GIDS). */
const FIRST_FREE = 60_900;
const LAST_FREE = 61_183;

const idsIn = (file: string): number[] => {
  const lines = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n') : [];
  return lines.flatMap((line) => {
    const id = line.split(':')[2];
    return id ? [Number(id)] : [];
  });
};

/**
 * The ids that the server of a data folder runs with, under root. A folder keeps its id.
 * @param dataDir need not exist
 * @returns `undefined` if accounts have all ids that may be used
 */
export function serverAccount(dataDir: string): Account | undefined {
  const taken = new Set([...idsIn('/etc/passwd'), ...idsIn('/etc/group')]);
  const isFree = (id: number) => id >= FIRST_FREE && id <= LAST_FREE && !taken.has(id);
  const owner = fs.statSync(dataDir, { throwIfNoEntry: false })?.uid ?? 0;
  let id = isFree(owner) ? owner : FIRST_FREE;
  while (id <= LAST_FREE && !isFree(id)) id += 1;
  return isFree(id) ? { uid: id, gid: id } : undefined;
}

/**
 * An account of this machine that no process runs as. `initdb` needs an account with a name for
 * about a second, before there is any data.
 * @returns `undefined` if every account but root has a process
 */
export function idleAccount(): Account | undefined {
  const busy = new Set<number>();
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const uid = fs.statSync(`/proc/${name}`, { throwIfNoEntry: false })?.uid;
    if (uid !== undefined) busy.add(uid);
  }
  const uid = idsIn('/etc/passwd').find((id) => id > 0 && !busy.has(id));
  return uid === undefined ? undefined : { uid, gid: uid };
}

/**
 * Gives a folder with everything in it to an account. Links are not followed. Until the end, only
 * root can enter the folder.
 */
export function giveFolder(folder: string, { uid, gid }: Account): void {
  fs.chmodSync(folder, 0o700);
  fs.chownSync(folder, 0, 0);
  const entries = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const entry of entries) fs.lchownSync(path.join(folder, entry), uid, gid);
  fs.chownSync(folder, uid, gid);
}

/** Whether the account may read `target` and enter every folder above it. */
export function isReachable(target: string, account: Account): boolean {
  let needed = 5;
  for (let folder = path.resolve(target); ; folder = path.dirname(folder)) {
    const { uid, gid, mode } = fs.statSync(folder);
    const shift = uid === account.uid ? 6 : gid === account.gid ? 3 : 0;
    if (((mode >> shift) & needed) !== needed) return false;
    if (folder === path.dirname(folder)) return true;
    needed = 1;
  }
}
