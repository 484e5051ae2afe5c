import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { InstanceRunningError, lockHolder, takeInstanceLock } from './instance-lock.ts';

describe('takeInstanceLock', () => {
  let folder: string;
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-lock-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));

  it('locks the folder for one process at a time and unlocks it', () => {
    const unlock = takeInstanceLock(folder);
    expect(lockHolder(folder)).toBe(process.pid);
    expect(() => takeInstanceLock(folder)).toThrow(InstanceRunningError);
    unlock();
    expect(lockHolder(folder)).toBeUndefined();
    takeInstanceLock(folder)();
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['of a process that has died', '999999999 1\n'],
    ['of an earlier process with the same number', `${process.pid} 1\n`],
    ['without content', ''],
  ])('ignores a lock %s', (_, content) => {
    fs.writeFileSync(path.join(folder, 'lock'), content);
    expect(lockHolder(folder)).toBeUndefined();
    takeInstanceLock(folder);
    expect(lockHolder(folder)).toBe(process.pid);
  });
});
