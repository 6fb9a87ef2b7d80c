// Builds a full-text index of the paragraphs of `texts` by lunr, writes it as JSON, reads it again, and searches it. The
// value is a string of all that was found and of the index.
// SPDX-License-Identifier: MIT OR Apache-2.0
(function () {
  var paragraphs = [];
  texts.forEach(function (text) {
    text.split(/\n\s*\n/).forEach(function (paragraph) {
      paragraphs.push({ id: String(paragraphs.length), title: paragraph.trim().split("\n")[0], text: paragraph });
    });
  });
  var built = lunr(function () {
    this.ref("id");
    this.field("title");
    this.field("text");
    paragraphs.forEach(this.add, this);
  });
  var written = JSON.stringify(built);
  var index = lunr.Index.load(JSON.parse(written));
  var queries = ["free software", "+patent -copyright", "warrant*", "title:license", "distributon~1", "source^3 binary"];
  var found = queries.map(function (query) {
    return query + ": " + index.search(query).map(function (result) {
      return result.ref + " " + result.score.toFixed(4);
    }).sort().join(", "); // since the order of equal scores is not defined
  });
  return found.join("\n") + "\n" + written;
})();
