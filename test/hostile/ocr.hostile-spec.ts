import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spacesPdf, whitePng } from '../support/neural/bombs.ts';
import { until } from '../support/until.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { LONGEST_ANSWER_MS } from './support/watch.ts';

const MB = 2 ** 20;
/** Resident memory of the server and its processes, in MB: 300 for the server itself. */
const MOST_RSS_MB = 1_000;

describe('files whose text is to be recognised', () => {
  let server: AttackedServer;

  beforeAll(async () => {
    server = await AttackedServer.start({ ROLES: 'api', NEURAL: 'true' });
  });
  afterAll(() => server.stop());

  async function recognize(bytes: Uint8Array) {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(bytes)]), 'file');
    const { bearer } = server.bystander;
    const uploaded = await fetch(`${server.url}/files`, {
      method: 'POST',
      headers: bearer,
      body: form,
    });
    const [file] = (await uploaded.json()) as { id: string }[];
    return server.send('PUT', '/neural/ocr', bearer, { file_id: file?.id });
  }

  const children = () => {
    const { pid } = server.process;
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  };

  async function attack(): Promise<void> {
    const image = whitePng(5_000, 5_000);
    expect(image.length).toBeLessThan(0.1 * MB);
    for (const bytes of [image, image]) {
      expect(await recognize(bytes)).toMatchObject({ status: 200, body: { ocr: [''] } });
      await until('the process of the image has ended', async () => children() === '');
    }
    expect(await recognize(spacesPdf(300 * MB))).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('expands to more than 100 MB') },
    });
    // Only the memory of the process shows what such a stream expands to.
    expect(await recognize(spacesPdf(400 * MB, 2))).toMatchObject({
      status: 503,
      body: { message: expect.stringContaining('more time or memory') },
    });
    await until('the process of the PDF file has ended', async () => children() === '');
  }

  it('take bounded memory, all of which is free after each file', async () => {
    const stop = server.watch();
    const { highestRssMb, longestMs, failures } = await attack().then(stop, async (error) => {
      await stop();
      throw error;
    });
    expect(failures).toEqual([]);
    expect(highestRssMb).toBeLessThan(MOST_RSS_MB);
    expect(longestMs).toBeLessThan(LONGEST_ANSWER_MS);
  });
});
