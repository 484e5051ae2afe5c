import http from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BenchRow } from '../finding.ts';
import type { BenchAccount } from '../seed.ts';
import { round } from '../statistics.ts';
import { usageOf } from './idle.ts';
import { startProgram } from './program.ts';

const KEY = 'files';
const FILE_BYTES = 25 * 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024, 'random enough ');
const HEAD = Buffer.from(
  '--b\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n' +
    'Content-Type: application/octet-stream\r\n\r\n',
);
const TAIL = Buffer.from('\r\n--b--\r\n');
const EVERY_MS = 100;
const WARM_FILES = 2;

function* form(): Generator<Buffer> {
  yield HEAD;
  for (let sent = 0; sent < FILE_BYTES; sent += PIECE.length) yield PIECE;
  yield TAIL;
}

/**
 * Sends a request over its own connection. Neither side keeps the whole body in memory.
 * @returns number of bytes of the response
 */
async function exchange(
  port: number,
  { token }: BenchAccount,
  path: string,
  body?: () => Iterable<Buffer>,
): Promise<{ size: number; head: string }> {
  const length = HEAD.length + FILE_BYTES + TAIL.length;
  const request = http.request({
    port,
    host: '127.0.0.1',
    path,
    agent: false,
    method: body ? 'POST' : 'GET',
    headers: {
      authorization: `Bearer ${token}`,
      ...(body
        ? { 'content-type': 'multipart/form-data; boundary=b', 'content-length': length }
        : {}),
    },
  });
  const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
  });
  const sent = body ? pipeline(Readable.from(body()), request) : Promise.resolve(request.end());
  const [response] = await Promise.all([answered, sent]);
  let [size, head] = [0, ''];
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (head.length < 1_000) head += chunk.toString('latin1', 0, 1_000);
  }
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}: ${head}`);
  return { size, head };
}

const upload = async (port: number, account: BenchAccount): Promise<string> =>
  (JSON.parse((await exchange(port, account, '/files', form)).head) as { id: string }[])[0]?.id ??
  '';

async function download(port: number, account: BenchAccount, id: string): Promise<void> {
  const { size } = await exchange(port, account, `/files/${id}/download`);
  if (size !== FILE_BYTES) throw new Error(`file ${id}: expected ${FILE_BYTES} bytes, got ${size}`);
}

/** Runs the work and measures the largest resident memory in megabytes, and the time in seconds. */
async function watched(
  pid: number,
  work: () => Promise<unknown>,
): Promise<{ rssMb: number; seconds: number }> {
  let rssMb = 0;
  const look = setInterval(() => (rssMb = Math.max(rssMb, usageOf(pid).rssMb)), EVERY_MS);
  const begun = performance.now();
  try {
    await work();
  } finally {
    clearInterval(look);
  }
  return { rssMb: round(rssMb, 0), seconds: round((performance.now() - begun) / 1000, 1) };
}

/**
 * Memory of the program while many large files are uploaded, and then downloaded, at the same time.
 */
export const filesRow: BenchRow = {
  key: KEY,
  title: 'files: memory while files of 25 MB are uploaded, and then downloaded, all at once',
  async run(world, report) {
    const count = world.scale.largeFiles;
    const [account] = world.sandboxAccounts;
    if (!account) throw new Error('there is no account');
    const database = await world.database(KEY);
    const { child, port } = await startProgram(world, database, { ROLES: 'api' });
    const { pid } = child;
    // Warm-up with single files, so that code is compiled and buffers have their size.
    for (let number = 0; number < WARM_FILES; number += 1)
      await download(port, account, await upload(port, account));
    const before = round(usageOf(pid).rssMb, 0);
    const ids: string[] = [];
    const each = (work: (number: number) => Promise<unknown>) =>
      Promise.all(Array.from({ length: count }, (_, number) => work(number)));
    const up = await watched(pid, () => each(async () => ids.push(await upload(port, account))));
    report.note(`upload: at most ${up.rssMb} MB, ${up.seconds} s; ${before} MB before`);
    const down = await watched(pid, () =>
      each((number) => download(port, account, ids[number] ?? '')),
    );
    await world.stop(child);
    await database.drop();
    const words = ({ rssMb, seconds }: typeof up) => `at most ${rssMb} MB, ${seconds} s`;
    report.round(
      KEY,
      `${count} files`,
      `${before} MB before; up: ${words(up)}; down: ${words(down)}`,
    );
    return [
      {
        what: `RSS during the transfer of ${count} files of 25 MB`,
        measured: Math.max(up.rssMb, down.rssMb),
        needed: 400,
        aim: 250,
        better: 'less',
        unit: ' MB',
        figures: { before, up, down },
      },
    ];
  },
};
