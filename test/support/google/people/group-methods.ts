import type { StubAnswer } from '../../remote-stub/messages.ts';
import { type GoogleCall, type GoogleRouter, ok, page, pageSize } from '../call.ts';
import { GoogleError, invalid, notFound } from '../errors.ts';
import { NEEDS } from '../scopes.ts';
import { type ContactGroup, groupsOf } from './contacts.ts';
import { peopleMethod, syncedVersion } from './people-methods.ts';

const GROUPS = '/v1/contactGroups';

/** Adds the methods of groups of contacts. */
export function addGroupMethods(router: GoogleRouter): void {
  router.add('GET', GROUPS, peopleMethod(NEEDS.contactsRead, list));
  router.add('POST', GROUPS, peopleMethod(NEEDS.contactsWrite, create));
  router.add('GET', `${GROUPS}/{id}`, peopleMethod(NEEDS.contactsRead, get));
  router.add('PUT', `${GROUPS}/{id}`, peopleMethod(NEEDS.contactsWrite, update));
  router.add('DELETE', `${GROUPS}/{id}`, peopleMethod(NEEDS.contactsWrite, remove));
  router.add('POST', `${GROUPS}/{id}/members:modify`, peopleMethod(NEEDS.contactsWrite, modify));
}

function groupView({ user }: GoogleCall, group: ContactGroup): object {
  const { resourceName, name, isSystem, isDeleted, version } = group;
  if (isDeleted) return { resourceName, metadata: { deleted: true } };
  return {
    resourceName,
    etag: `%${version}`,
    groupType: isSystem ? 'SYSTEM_CONTACT_GROUP' : 'USER_CONTACT_GROUP',
    name,
    formattedName: name,
    memberCount: user.contacts.members(group).length,
  };
}

function groupOf({ user, params }: GoogleCall): ContactGroup {
  const group = user.contacts.groups.get(`contactGroups/${params['id']}`);
  if (!group || group.isDeleted) throw notFound();
  return group;
}

function list(call: GoogleCall): StubAnswer {
  const { query, user } = call;
  const token = query.get('syncToken');
  const since = token === null ? null : syncedVersion(user.contacts, token);
  const all = [...user.contacts.groups.values()].filter(({ isDeleted, version }) =>
    since === null ? !isDeleted : version > since,
  );
  const size = pageSize(query, 'pageSize', 30, 1000);
  const [, version = user.contacts.version, last = null] =
    /^(\d+)~(.*)$/.exec(query.get('pageToken') ?? '') ?? [];
  const { items, nextPageToken } = page(
    all,
    ({ resourceName }) => resourceName,
    size,
    last,
    call.world.habits.pages,
  );
  return ok({
    contactGroups: items.map((group) => groupView(call, group)),
    totalItems: all.length,
    ...(nextPageToken === undefined
      ? { nextSyncToken: `people_${version}` }
      : { nextPageToken: `${version}~${nextPageToken}` }),
  });
}

function get(call: GoogleCall): StubAnswer {
  const group = groupOf(call);
  const most = Number(call.query.get('maxMembers') ?? 0);
  const members = call.user.contacts.members(group).slice(0, most);
  const names = members.map(({ resourceName }) => resourceName);
  const memberResourceNames = names.length > 0 && { memberResourceNames: names };
  return ok({ ...groupView(call, group), ...memberResourceNames });
}

function checkedName({ user, body }: GoogleCall, own: ContactGroup | null): string {
  const { name = '' } = (body['contactGroup'] ?? {}) as { name?: string };
  if (name.trim() === '') throw invalid('Contact group name must not be empty.');
  const isTaken = [...user.contacts.groups.values()].some(
    (group) => group !== own && !group.isDeleted && group.name === name,
  );
  if (isTaken) throw new GoogleError(409, 'alreadyExists', 'Contact group name already exists.');
  return name;
}

function create(call: GoogleCall): StubAnswer {
  return ok(groupView(call, call.user.contacts.addGroup(checkedName(call, null))));
}

function changeable(call: GoogleCall): ContactGroup {
  const group = groupOf(call);
  if (group.isSystem) throw invalid('System contact groups cannot be changed.');
  return group;
}

function update(call: GoogleCall): StubAnswer {
  const group = changeable(call);
  group.name = checkedName(call, group);
  call.user.contacts.touch(group);
  return ok(groupView(call, group));
}

function remove(call: GoogleCall): StubAnswer {
  const group = changeable(call);
  const { contacts } = call.user;
  for (const contact of contacts.members(group))
    contacts.setGroups(
      contact,
      groupsOf(contact).filter((name) => name !== group.resourceName),
    );
  group.isDeleted = true;
  contacts.touch(group);
  return ok({});
}

function modify(call: GoogleCall): StubAnswer {
  const { resourceName } = groupOf(call);
  const { contacts } = call.user;
  const names = (key: string) => ((call.body[key] ?? []) as unknown[]).map(String);
  const missing: string[] = [];
  const change = (name: string, groups: (before: string[]) => string[]) => {
    const contact = contacts.people.get(name);
    if (contact && !contact.isDeleted) contacts.setGroups(contact, groups(groupsOf(contact)));
    else missing.push(name);
  };
  for (const name of names('resourceNamesToAdd'))
    change(name, (before) => [...before, resourceName]);
  for (const name of names('resourceNamesToRemove'))
    change(name, (before) => before.filter((group) => group !== resourceName));
  return ok(missing.length > 0 ? { notFoundResourceNames: missing } : {});
}
