-- What is asked of the table of all characters of Unicode. Statements run one after the other; each row of each answer
-- is hashed.
-- SPDX-License-Identifier: MIT OR Apache-2.0

CREATE INDEX by_name ON characters(name);
CREATE INDEX by_category ON characters(category, code);

-- groups, sorted
SELECT category, count(*), min(code), max(code), sum(length(name)) FROM characters GROUP BY category ORDER BY 2 DESC, 1;
SELECT bidi, group_concat(DISTINCT category) FROM characters GROUP BY bidi ORDER BY bidi;
SELECT substr(name, 1, instr(name || ' ', ' ') - 1) AS script, count(*) AS n FROM characters
  GROUP BY script HAVING n > 20 ORDER BY n DESC, script;

-- the table joined with itself: letters and their other cases
SELECT a.name, b.name FROM characters a JOIN characters b ON b.code = a.upper
  WHERE b.lower = a.code AND a.name LIKE '%SMALL%' ORDER BY b.name;
SELECT count(*), sum(b.code) FROM characters a JOIN characters b
  ON b.name = replace(a.name, 'CAPITAL', 'SMALL') WHERE a.category = 'Lu';

-- the words of the names, as rows
CREATE TABLE words(word TEXT, code INTEGER);
INSERT INTO words
  WITH RECURSIVE split(code, word, rest) AS (
    SELECT code, '', name || ' ' FROM characters WHERE category NOT IN ('Lo', 'So')
    UNION ALL
    SELECT code, substr(rest, 1, instr(rest, ' ') - 1), substr(rest, instr(rest, ' ') + 1) FROM split WHERE rest <> '')
  SELECT word, code FROM split WHERE word <> '';
CREATE INDEX by_word ON words(word, code);
CREATE INDEX by_code ON words(code, word);
SELECT word, count(*) AS n FROM words GROUP BY word ORDER BY n DESC, word LIMIT 200;
SELECT a.word, b.word, count(*) AS n FROM words a CROSS JOIN words b ON b.code = a.code AND b.word > a.word
  WHERE a.word IN ('ARROW', 'CIRCLE', 'DOUBLE', 'STROKE', 'DOT') GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 100;

-- a window, and text as JSON
SELECT word, n, rank() OVER (ORDER BY n DESC), sum(n) OVER (ORDER BY word)
  FROM (SELECT word, count(*) AS n FROM words WHERE code < 0x3000 GROUP BY word) ORDER BY word;
SELECT category, length(json_group_array(json_object('code', code, 'name', lower(name)))) FROM characters
  WHERE code < 0x3000 GROUP BY category ORDER BY category;

-- search by text
CREATE VIRTUAL TABLE texts USING fts5(name, content='characters', content_rowid='code');
INSERT INTO texts(rowid, name) SELECT code, name FROM characters WHERE category NOT IN ('Lo', 'So');
SELECT rowid, name FROM texts WHERE texts MATCH 'greek AND (alpha OR omega)' ORDER BY rowid;
SELECT count(*), sum(rowid) FROM texts WHERE texts MATCH 'arrow*';

-- changes
UPDATE characters SET name = lower(name) || ' (' || printf('U+%04X', code) || ')' WHERE category IN ('Sm', 'Ll', 'Lu');
UPDATE characters SET decomposition = NULL WHERE decomposition = '';
DELETE FROM characters WHERE category = 'Lo' AND code % 3 = 0;
DELETE FROM words WHERE word IN (SELECT word FROM words GROUP BY word HAVING count(*) = 1);
INSERT INTO words SELECT word || '-' || (code % 7), code FROM words WHERE code < 0x2000;
SELECT count(*), sum(length(name)), sum(decomposition IS NULL) FROM characters;
SELECT count(*), count(DISTINCT word) FROM words;
DROP TABLE texts;
DROP TABLE words;
