import { DavXmlError, readDavXml } from './dav-xml.ts';

const head = {
  url: 'https://dav.test/',
  status: 207,
  contentType: 'application/xml; charset=utf-8',
};
const read = (text: string) => readDavXml({ text, head });
const multistatus = (inside: string) =>
  `<?xml version="1.0"?><D:multistatus xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">${inside}</D:multistatus>`;

describe('the XML of a DAV server', () => {
  it('is read resource by resource, with the properties that the server returned', () => {
    const answer = read(
      multistatus(
        `<D:response><D:href>/a%20b/</D:href>
          <D:propstat><D:prop><D:displayname>A &amp; B</D:displayname><D:resourcetype><D:collection/><C:calendar/></D:resourcetype>
            <C:supported-calendar-component-set><C:comp name="VEVENT"/><C:comp name="VTODO"/></C:supported-calendar-component-set>
          </D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>
          <D:propstat><D:prop><D:getetag/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>
        </D:response>
        <D:response><D:href>/gone</D:href><D:status>HTTP/1.1 404 Not Found</D:status></D:response>
        <D:sync-token>urn:1</D:sync-token>`,
      ),
    );
    expect(JSON.parse(JSON.stringify(answer))).toEqual({
      token: 'urn:1',
      hasRefusals: true,
      resources: [
        {
          href: '/a%20b/',
          status: 207,
          ok: true,
          props: {
            displayname: { _text: 'A & B' },
            resourcetype: { collection: {}, calendar: {} },
            supportedCalendarComponentSet: {
              comp: [{ _attributes: { name: 'VEVENT' } }, { _attributes: { name: 'VTODO' } }],
            },
          },
        },
        { href: '/gone', status: 404, ok: false, props: {} },
      ],
    });
  });

  it('keeps text unchanged, including numbers and CDATA', () => {
    const { resources } = read(
      multistatus(
        '<D:response><D:href>/1</D:href><D:propstat><D:prop><D:getetag>1e3</D:getetag><C:calendar-data><![CDATA[BEGIN:<VCALENDAR>]]></C:calendar-data></D:prop></D:propstat></D:response>',
      ),
    );
    expect(resources[0]?.props['getetag']).toEqual({ _text: '1e3' });
    expect(resources[0]?.props['calendarData']).toEqual({ _text: 'BEGIN:<VCALENDAR>' });
  });

  it('gives one resource for the whole response if it is not a multistatus or not XML', () => {
    const itself = {
      resources: [{ href: head.url, status: 207, ok: true, props: {} }],
      token: null,
    };
    expect(read('<mkcol-response/>')).toMatchObject(itself);
    expect(
      readDavXml({ text: '<html>', head: { ...head, contentType: 'text/html' } }),
    ).toMatchObject(itself);
    expect(read('')).toMatchObject(itself);
  });

  it('reports refusals inside other kinds of responses', () => {
    const refused = read(
      '<mkcol-response><propstat><status>HTTP/1.1 403 Forbidden</status></propstat></mkcol-response>',
    );
    expect(refused.hasRefusals).toBe(true);
  });

  it.each([
    ['is not well-formed', multistatus('<a></b>')],
    ['ends early', '<multistatus><response>'],
    ['has a DTD', `<!DOCTYPE a [<!ENTITY b "c">]>${multistatus('&b;')}`],
    ['names entities of its own', multistatus('<a>&b;</a>')],
    ['is nested deeply', '<a>'.repeat(100)],
    [
      'has a resource of too many elements',
      multistatus(`<response>${'<a/>'.repeat(20_000)}</response>`),
    ],
    ['has an element with a very long name', multistatus(`<${'a'.repeat(500)}/>`)],
  ])('is refused if it %s', (_what, text) => {
    expect(() => read(text)).toThrow(DavXmlError);
  });

  it('takes time in proportion to its length, and sets no prototypes from the server', () => {
    const names = Array.from({ length: 9_000 }, (_, at) => `<p${at}>x</p${at}>`).join('');
    const hostile = `<response><propstat><prop><__proto__><polluted/></__proto__>${names}</prop></propstat></response>`;
    const { resources } = read(multistatus(hostile));
    expect(Object.keys(resources[0]?.props ?? {})).toHaveLength(9_001);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
