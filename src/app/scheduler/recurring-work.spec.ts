import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { SchedulerModule } from './scheduler.module.ts';
import { WorkOfProcesses, WorkOfWorkers } from './recurring-work.ts';

interface Job {
  method: string;
  cronTime: string;
  name: string;
  waitForCompletion: boolean;
  timeZone: string;
}

/**
 * Key under which `@Cron` keeps its options on a method (`SCHEDULE_CRON_OPTIONS` of the library).
 */
const CRON_OPTIONS = 'SCHEDULE_CRON_OPTIONS';

const jobsOf = (work: Type): Job[] =>
  Object.entries(Object.getOwnPropertyDescriptors(work.prototype)).flatMap(
    ([method, { value }]) => {
      const options: unknown = Reflect.getMetadata(CRON_OPTIONS, value ?? {});
      return options ? [{ method, ...(options as Omit<Job, 'method'>) }] : [];
    },
  );

describe('recurring work', () => {
  const all = [...jobsOf(WorkOfWorkers), ...jobsOf(WorkOfProcesses)];

  it('has cron jobs that advance the outbox and fire reminders every second', () => {
    const everySecond = all.filter(({ cronTime }) => cronTime === '* * * * * *');
    expect(everySecond.map(({ name }) => name)).toEqual([
      'advance the outbox',
      'fire reminders',
      'advance other queues',
    ]);
  });

  it('gives each cron job a name of its own', () => {
    const names = all.map(({ name }) => name);
    expect(names.filter(Boolean)).toHaveLength(all.length);
    expect(new Set(names).size).toBe(all.length);
  });

  it('has no cron job that overlaps itself or depends on the time zone of the machine', () => {
    expect(all.filter((job) => !job.waitForCompletion || job.timeZone !== 'UTC')).toEqual([]);
  });

  it('starts no two tasks of the same interval in the same second', () => {
    const slower = all.filter(({ cronTime }) => !cronTime.startsWith('*'));
    const times = slower.map(({ cronTime }) => cronTime);
    expect(new Set(times).size).toBe(times.length);
  });

  it('belongs to workers, except for what every process does for itself', () => {
    expect(SchedulerModule.register({ roles: ['api'] }).providers).toEqual([]);
    expect(SchedulerModule.register({ roles: ['api', 'worker'] }).providers).toEqual([
      WorkOfWorkers,
    ]);
  });
});
