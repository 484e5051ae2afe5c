import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ModuleRef } from '@nestjs/core';
import { TaskRuns } from './task-runs.ts';

class Service {}

describe('runs of recurring tasks', () => {
  const service = new Service();
  let runs: TaskRuns;
  beforeEach(() => {
    runs = new TaskRuns({ get: () => service } as unknown as ModuleRef);
  });

  it('get their service', async () => {
    let got: Service | undefined;
    await runs.ofWorker(Service, async (one) => (got = one));
    expect(got).toBe(service);
  });

  it('do not reject when the task fails, so that it runs again', async () => {
    await expect(
      runs.ofWorker(Service, () => Promise.reject(new Error('not this time'))),
    ).resolves.toBeUndefined();
  });

  it('get a signal when the process stops, and the process waits for their end', async () => {
    const begun = Promise.withResolvers<void>();
    let ended = false;
    const run = runs.ofWorker(Service, async (_, stop) => {
      begun.resolve();
      await new Promise((resolve) => stop.addEventListener('abort', resolve));
      ended = true;
    });
    await begun.promise;
    runs.onModuleDestroy();
    await runs.beforeApplicationShutdown();
    expect(ended).toBe(true);
    await run;
  });

  it('of workers do not start when the process stops, and those of every process still do', async () => {
    const started: string[] = [];
    const waiting = runs.ofWorker(Service, async () => started.push('worker that waited'));
    runs.onModuleDestroy();
    await waiting;
    await runs.ofWorker(Service, async () => started.push('worker'));
    await runs.ofProcess(Service, async () => started.push('process'));
    expect(started).toEqual(['process']);
  });
});
