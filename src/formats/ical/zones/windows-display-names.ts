import { windowsZone } from './windows-zones.ts';

/**
 * What Windows shows for a zone, without the offset in front, with the zone's Windows name. Some
 * programs write this text as TZID. Older Windows has other texts for some zones.
 */
const TABLE = `
International Date Line West=Dateline|Aleutian Islands=Aleutian|Hawaii=Hawaiian|Marquesas Islands=Marquesas|Alaska=Alaskan
Baja California=Pacific Standard Time (Mexico)|Pacific Time (US & Canada)=Pacific|Pacific Time (US & Canada); Tijuana=Pacific
Arizona=US Mountain|Chihuahua, La Paz, Mazatlan=Mountain Standard Time (Mexico)|La Paz, Mazatlan=Mountain Standard Time (Mexico)
Mountain Time (US & Canada)=Mountain|Yukon=Yukon|Central America=Central America|Central Time (US & Canada)=Central
Easter Island=Easter Island|Guadalajara, Mexico City, Monterrey=Central Standard Time (Mexico)|Saskatchewan=Canada Central
Bogota, Lima, Quito=SA Pacific|Bogota, Lima, Quito, Rio Branco=SA Pacific|Chetumal=Eastern Standard Time (Mexico)
Eastern Time (US & Canada)=Eastern|Haiti=Haiti|Havana=Cuba|Indiana (East)=US Eastern|Turks and Caicos=Turks And Caicos
Asuncion=Paraguay|Atlantic Time (Canada)=Atlantic|Caracas=Venezuela|Cuiaba=Central Brazilian
Georgetown, La Paz, Manaus, San Juan=SA Western|Santiago=Pacific SA|Newfoundland=Newfoundland|Araguaina=Tocantins
Brasilia=E. South America|Cayenne, Fortaleza=SA Eastern|City of Buenos Aires=Argentina|Buenos Aires=Argentina
Buenos Aires, Georgetown=Argentina|Greenland=Greenland|Montevideo=Montevideo|Punta Arenas=Magallanes
Saint Pierre and Miquelon=Saint Pierre|Salvador=Bahia|Mid-Atlantic=Mid-Atlantic|Mid-Atlantic - Old=Mid-Atlantic|Azores=Azores
Cabo Verde Is.=Cape Verde|Cape Verde Is.=Cape Verde|Coordinated Universal Time=UTC
Dublin, Edinburgh, Lisbon, London=GMT|Greenwich Mean Time : Dublin, Edinburgh, Lisbon, London=GMT
Greenwich Mean Time; Dublin, Edinburgh, London=GMT|Monrovia, Reykjavik=Greenwich|Sao Tome=Sao Tome|Casablanca=Morocco
Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna=W. Europe|Belgrade, Bratislava, Budapest, Ljubljana, Prague=Central Europe
Brussels, Copenhagen, Madrid, Paris=Romance|Sarajevo, Skopje, Warsaw, Zagreb=Central European
West Central Africa=W. Central Africa|Amman=Jordan|Athens, Bucharest=GTB|Athens, Bucharest, Istanbul=GTB|Beirut=Middle East
Cairo=Egypt|Chisinau=E. Europe|Damascus=Syria|Gaza, Hebron=West Bank|Harare, Pretoria=South Africa
Helsinki, Kyiv, Riga, Sofia, Tallinn, Vilnius=FLE|Jerusalem=Israel|Juba=South Sudan|Kaliningrad=Kaliningrad|Khartoum=Sudan
Tripoli=Libya|Windhoek=Namibia|Baghdad=Arabic|Istanbul=Turkey|Kuwait, Riyadh=Arab|Minsk=Belarus
Moscow, St. Petersburg=Russian|Moscow, St. Petersburg, Volgograd=Russian|Nairobi=E. Africa|Volgograd=Volgograd|Tehran=Iran
Abu Dhabi, Muscat=Arabian|Astrakhan, Ulyanovsk=Astrakhan|Baku=Azerbaijan|Izhevsk, Samara=Russia Time Zone 3
Port Louis=Mauritius|Saratov=Saratov|Tbilisi=Georgian|Yerevan=Caucasus|Kabul=Afghanistan|Ashgabat, Tashkent=West Asia
Ekaterinburg=Ekaterinburg|Islamabad, Karachi=Pakistan|Qyzylorda=Qyzylorda|Chennai, Kolkata, Mumbai, New Delhi=India
Sri Jayawardenepura=Sri Lanka|Kathmandu=Nepal|Astana=Central Asia|Bishkek=Central Asia|Dhaka=Bangladesh|Omsk=Omsk
Yangon (Rangoon)=Myanmar|Bangkok, Hanoi, Jakarta=SE Asia|Barnaul, Gorno-Altaysk=Altai|Hovd=W. Mongolia|Krasnoyarsk=North Asia
Novosibirsk=N. Central Asia|Tomsk=Tomsk|Beijing, Chongqing, Hong Kong, Urumqi=China|Irkutsk=North Asia East
Kuala Lumpur, Singapore=Singapore|Perth=W. Australia|Taipei=Taipei|Ulaanbaatar=Ulaanbaatar|Eucla=Aus Central W.
Chita=Transbaikal|Osaka, Sapporo, Tokyo=Tokyo|Pyongyang=North Korea|Seoul=Korea|Yakutsk=Yakutsk|Adelaide=Cen. Australia
Darwin=AUS Central|Brisbane=E. Australia|Canberra, Melbourne, Sydney=AUS Eastern|Guam, Port Moresby=West Pacific|Hobart=Tasmania
Vladivostok=Vladivostok|Lord Howe Island=Lord Howe|Bougainville Island=Bougainville|Chokurdakh=Russia Time Zone 10
Magadan=Magadan|Norfolk Island=Norfolk|Sakhalin=Sakhalin|Solomon Is., New Caledonia=Central Pacific
Anadyr, Petropavlovsk-Kamchatsky=Russia Time Zone 11|Auckland, Wellington=New Zealand|Fiji=Fiji|Chatham Islands=Chatham Islands
Nuku'alofa=Tonga|Samoa=Samoa|Kiritimati Island=Line Islands
`;

const NAMES = new Map(
  TABLE.trim()
    .split(/[|\n]/)
    .map((entry) => entry.split('=') as [string, string])
    .map(([shown, windows]) => [shown.toLowerCase(), windows]),
);

/** The IANA zone of a text such as `Eastern Time (US & Canada)`, in upper or lower case. */
export function displayedZone(text: string): string | undefined {
  const windows = NAMES.get(text.trim().replaceAll('\\', '').toLowerCase());
  return windows === undefined
    ? undefined
    : (windowsZone(windows) ?? windowsZone(`${windows} Standard Time`));
}
