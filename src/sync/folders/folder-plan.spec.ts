import type { MirroredFolder } from '../../mail/folders/mirror-folders.ts';
import type { RemoteFolder } from '../../providers/port/connector.ts';
import { type FolderWrite, planFolders } from './folder-plan.ts';

const mirrored = (
  id: string,
  displayName: string,
  providerId: string | null = null,
): MirroredFolder => ({ id, providerId, name: null, displayName });
const remote = (providerId: string, displayName: string): RemoteFolder => ({
  providerId,
  name: null,
  displayName,
});
const write = (objectId: string, action: string, payload: FolderWrite['payload']): FolderWrite => ({
  objectId,
  action,
  payload,
});

describe('planFolders', () => {
  it('adds, renames and deletes folders as the provider has them', () => {
    const plan = planFolders(
      [remote('p1', 'New'), remote('p2', 'Renamed')],
      [mirrored('b', 'Old', 'p2'), mirrored('c', 'Gone', 'p3')],
      [],
    );
    expect(plan.written).toEqual([
      { id: expect.any(String) as string, providerId: 'p1', name: null, displayName: 'New' },
      mirrored('b', 'Renamed', 'p2'),
    ]);
    expect([...plan.createdIds]).toEqual([plan.written[0]?.id]);
    expect([...plan.changedIds]).toEqual(['b']);
    expect(plan.goneIds).toEqual(['c']);
  });

  it('knows a new folder by the name that it is created with, after it was renamed here', () => {
    const plan = planFolders(
      [remote('p1', 'First')],
      [mirrored('a', 'Second')],
      [
        write('a', 'create_folder', { displayName: 'First' }),
        write('a', 'update_folder', { displayName: 'Second', before: 'First' }),
      ],
    );
    expect(plan.written).toEqual([mirrored('a', 'Second', 'p1')]);
    expect(plan.createdIds.size).toBe(0);
    expect(plan.goneIds).toEqual([]);
  });

  it('takes the oldest of two new folders for the one that the provider lists', () => {
    const plan = planFolders(
      [remote('p1', 'First')],
      [mirrored('b', 'First'), mirrored('a', 'Second')],
      [
        write('a', 'create_folder', { displayName: 'First' }),
        write('a', 'update_folder', { displayName: 'Second', before: 'First' }),
        write('b', 'create_folder', { displayName: 'First' }),
      ],
    );
    expect(plan.written).toEqual([mirrored('a', 'Second', 'p1')]);
    expect(plan.goneIds).toEqual([]);
  });

  it('knows a folder whose first of two renames has reached the provider', () => {
    const plan = planFolders(
      [remote('B', 'B')],
      [mirrored('a', 'C', 'A')],
      [
        write('a', 'update_folder', { displayName: 'B', before: 'A' }),
        write('a', 'update_folder', { displayName: 'C', before: 'B' }),
      ],
    );
    expect(plan.written).toEqual([mirrored('a', 'C', 'B')]);
    expect(plan.createdIds.size).toBe(0);
    expect(plan.changedIds.size).toBe(0);
  });

  it('leaves out a folder that is being deleted here', () => {
    const plan = planFolders(
      [remote('p1', 'Old')],
      [],
      [write('a', 'delete_folder', { displayName: 'Old', providerId: 'p1' })],
    );
    expect(plan.written).toEqual([]);
  });
});
