import { afterEach, describe, expect, it } from '@jest/globals';
import type { ModuleRef } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { until } from '../../../test/support/until.ts';
import type { AppConfig } from '../../platform/config/app-config.ts';
import { type RecurringTask, RecurringWork } from './recurring-work.ts';

describe('recurring work', () => {
  let registry: SchedulerRegistry;
  let work: RecurringWork;
  const start = (roles: AppConfig['roles'], tasks?: readonly RecurringTask[]) => {
    registry = new SchedulerRegistry();
    work = new RecurringWork({ roles } as AppConfig, {} as ModuleRef, registry, tasks);
    work.onApplicationBootstrap();
  };
  const task = (run: RecurringTask['run']): RecurringTask => {
    return { name: 'task', everySeconds: 0.005, role: 'worker', run };
  };

  afterEach(async () => {
    work.onModuleDestroy();
    await work.beforeApplicationShutdown();
    for (const name of registry.getIntervals()) registry.deleteInterval(name);
    for (const name of registry.getTimeouts()) registry.deleteTimeout(name);
  });

  it('runs tasks of workers only in processes with that role', async () => {
    start(['api']);
    expect(registry.getIntervals()).toEqual([
      'keys',
      'log level',
      'uses of access tokens',
      'refused requests',
    ]);
  });

  it('does not start a task that is still running', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let runs = 0;
    let others = 0;
    start(
      ['worker'],
      [
        task(() => {
          runs += 1;
          return promise;
        }),
        { ...task(() => Promise.resolve((others += 1))), name: 'other' },
      ],
    );
    await until('another task has run three times', async () => others >= 3);
    expect(runs).toBe(1);
    resolve();
    await until('the task runs again', async () => runs > 1);
  });

  it('runs a task again after it has failed', async () => {
    let runs = 0;
    start(
      ['worker'],
      [
        task(() => {
          runs += 1;
          return Promise.reject(new Error('not this time'));
        }),
      ],
    );
    await until('the task has run twice', async () => runs >= 2);
  });

  it('aborts a running task when the process stops, waits for its end, and starts no task after that', async () => {
    let runs = 0;
    let ended = false;
    start(
      ['worker'],
      [
        task(async (_, stop) => {
          runs += 1;
          await new Promise((resolve) => stop.addEventListener('abort', resolve));
          ended = true;
        }),
      ],
    );
    await until('the task runs', async () => runs === 1);
    work.onModuleDestroy();
    await work.beforeApplicationShutdown();
    expect({ runs, ended }).toEqual({ runs: 1, ended: true });
  });
});
