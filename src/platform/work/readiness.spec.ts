import { Readiness } from './readiness.ts';

describe('Readiness', () => {
  it('tells every check by name, in order, whatever the others do', async () => {
    const readiness = new Readiness();
    readiness.register('late', () => new Promise((resolve) => setTimeout(() => resolve(null), 20)));
    readiness.register('broken', () => Promise.reject(new Error('password=hunter2')));
    readiness.register('throwing', () => {
      throw new Error('at once');
    });
    readiness.register('off', () => 'is off');
    expect(await readiness.results()).toEqual([
      { name: 'late', problem: null },
      { name: 'broken', problem: 'the check failed' },
      { name: 'throwing', problem: 'the check failed' },
      { name: 'off', problem: 'is off' },
    ]);
  });

  it('replaces a check that is registered again', async () => {
    const readiness = new Readiness();
    readiness.register('engine', () => 'has not ticked');
    readiness.register('engine', () => null);
    expect(await readiness.results()).toEqual([{ name: 'engine', problem: null }]);
  });

  it('does not wait for a check that hangs', async () => {
    const readiness = new Readiness();
    readiness.register('hanging', () => new Promise(() => undefined));
    expect(await readiness.results()).toEqual([
      { name: 'hanging', problem: 'no answer within two seconds' },
    ]);
  });
});
