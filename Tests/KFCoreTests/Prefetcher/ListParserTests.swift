import KFImaging
import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

@Suite("The parser of lists")
struct ListParserTests {
    private func items(_ text: String, _ format: ListFormat, _ change: (inout ListOptions) -> Void = { _ in }) throws
        -> [PrefetchItem]
    {
        var options = ListOptions()
        change(&options)
        var parser = ListParser(format, options)
        var splitter = RecordSplitter(delimiter: format.delimiter, choosesDelimiter: format == .csv)
        var found: [PrefetchItem] = []
        for record in splitter.take(Array(text.utf8)) + splitter.end() {
            if let item = try parser.take(record, delimiter: splitter.delimiter) { found.append(item) }
            while let item = parser.next() { found.append(item) }
        }
        try parser.finish()
        return found
    }

    private func url(_ item: PrefetchItem) throws -> String {
        guard case .network(let resource) = try item.source.get() else { return "" }
        return resource.downloadURL.text
    }

    @Test(
        "Hand-made lines are read without quotes and comments",
        arguments: [
            ("\"http://h/a\"", "http://h/a"), ("'http://h/a'", "http://h/a"), ("  \"http://h/a\",\r", "http://h/a"),
            ("\"http://h/a b #1\"  # the cat", "http://h/a%20b%20"), ("http://h/a # the cat", "http://h/a"),
            ("http://h/a\t#the cat", "http://h/a"), ("http://h/a#top", "http://h/a"),
            (" \thttp://h/a \t", "http://h/a"),
            ("http://h/a b/c?d e", "http://h/a%20b/c?d%20e"), ("  # http://h/a", nil), ("\"\"", nil), ("#", nil),
        ])
    func handMade(line: String, expected: String?) throws {
        let found = try items("\(line)\n", .lines)
        #expect(try found.map(url) == (expected.map { [$0] } ?? []), "\(line)")
    }

    @Test(
        "A line with several sources is refused with its reason",
        arguments: [
            ("http://h/a http://h/b", "two URLs"), ("http://h/a, https://h/b", "two URLs"),
            ("\"http://h/a", "not closed"), ("'http://h/a'b", "closing quote"), ("http://h b/a", "host"),
        ])
    func mistakes(line: String, reason: String) throws {
        let found = try #require(try items("\(line)\n", .lines).first)
        guard case .failure(let error) = found.source else {
            Issue.record("\(line) is taken")
            return
        }
        #expect(error.message.contains(reason) && found.text == line, "\(error.message)")
    }

    @Test(
        "A csv list shows its delimiter in its first row",
        arguments: [
            ("sep=|\r\nid|url\r\n1|http://h/a\r\n", "http://h/a"), ("id;url\n1;http://h/a\n", "http://h/a"),
            ("id\turl\tname\n1\thttp://h/a\tx\n", "http://h/a"),
            ("id;url\n\"1\n;\";\"http://h/a\"\n", "http://h/a"), ("id,url;x\n1,http://h/a\n", nil),
            ("http://h/a;b\n", "http://h/a;b"), ("1;x;http://h/a\n", nil), ("url\nhttp://h/a;b\n", "http://h/a;b"),
        ])
    func delimiters(list: String, expected: String?) throws {
        let found = try? items(list, .csv) { $0.urlColumn = list.hasPrefix("http") ? .number(1) : .name("url") }
        #expect(try found?.map(url) ?? [] == (expected.map { [$0] } ?? []), "\(list)")
    }

    @Test("Objects are recognised line by line")
    func mixed() throws {
        let text = "http://h/a\n{\"url\":\"http://h/b\"}\n# c\n {\"url\":\"http://h/c\"}\n"
        #expect(try items(text, .lines).map(url) == ["http://h/a", "http://h/b", "http://h/c"])
        let lines = try items(text, .lines) { $0.format = .lines }
        #expect(lines.map { (try? $0.source.get()) != nil } == [true, false, false])
        #expect(throws: ListProblem.self, "a table in a list of lines") {
            try items("id,picture\n1,http://h/a\n", .lines) { $0.urlColumn = .name("picture") }
        }
        #expect(try items("http://h/a\n", .lines) { $0.urlColumn = .name("picture") }.count == 1)
    }

    @Test(
        "A member path finds every URL of an object",
        arguments: [
            (#"{"a":{"b":"http://h/1"}}"#, "a.b", ["http://h/1"]),
            (#"{"a.b":"http://h/1","a":{"b":"http://h/2"}}"#, "a.b", ["http://h/1"]),
            (#"{"images":["http://h/1","http://h/2 3",null,""]}"#, "images[]", ["http://h/1", "http://h/2%203"]),
            (
                #"{"images":[{"url":"http://h/1"},{"x":1},{"url":"http://h/2"}]}"#, "images[].url",
                ["http://h/1", "http://h/2"]
            ),
            (#"{"images":[{"url":"http://h/1"},{"url":"http://h/2"}]}"#, ".images[1].url", ["http://h/2"]),
            (
                #"{"a":[{"b":[{"c":"http://h/1"}]},{"b":[{"c":"http://h/2"}]}]}"#, "a[].b[].c",
                ["http://h/1", "http://h/2"]
            ),
            (#"{"images":[]}"#, "images[].url", []),
            (#"{"a[":"http://h/1"}"#, "a[", ["http://h/1"]),
        ])
    func paths(object: String, path: String, expected: [String]) throws {
        let found = try items("\(object)\n", .jsonl) { $0.urlColumn = .name(path) }
        #expect(try found.map(url) == expected)
        #expect(found.allSatisfy { $0.line == 1 && $0.sharesRecord == (expected.count > 1) })
        #expect(found.allSatisfy { $0.record.elementsEqual("\(object)\n".utf8) })
    }

    @Test("The URLs of one object get keys of their own")
    func pathColumns() throws {
        let object =
            #"{"id":7,"h":{"A":"b"},"images":[{"url":"http://h/1","sku":"x"},{"sku":"y"},{"url":"http://h/3","sku":"z"}]}"#
        let shared = try items("\(object)\n", .jsonl) {
            $0.urlColumn = .name("images[].url")
            $0.keyColumn = .name("id")
            $0.nameColumn = .name("id")
            $0.headersColumn = .name("h")
        }
        #expect(try shared.map { try $0.source.get().cacheKey } == ["7", "7[1]"])
        #expect(shared.map(\.name) == ["7", "7"] && shared.allSatisfy { $0.headers.first?.value == "b" })
        let paired = try items("\(object)\n", .jsonl) {
            $0.urlColumn = .name("images[].url")
            $0.keyColumn = .name("images[].sku")
        }
        #expect(try paired.map { try $0.source.get().cacheKey } == ["x", "z"])
        let unequal = try items("{\"u\":[\"http://h/1\",\"http://h/2\"],\"k\":[\"a\",\"b\",\"c\"]}\n", .jsonl) {
            $0.urlColumn = .name("u[]")
            $0.keyColumn = .name("k[]")
        }
        #expect(unequal.count == 1)
        #expect(throws: KingfisherError.self) { try unequal[0].source.get() }
        let array = try items("{\"u\":[\"http://h/1\"]}\n{\"u\":\"http://h/1\"}\n", .jsonl) {
            $0.urlColumn = .name("u")
        }
        guard case .failure(let error) = array[0].source else { return }
        #expect(error.message.contains("u[]"))
    }

    @Test("A list whose objects all lack the URL is refused")
    func noMember() throws {
        for text in ["[{\"url\":\"http://h/a\"}]\n", " [\n"] {
            #expect(throws: ListProblem.unusable("it is a JSON array; jq -c '.[]' makes a list of it")) {
                try items(text, .lines)
            }
        }
        let lacking = "{\"a\":1}\n{\"b\":[{}]}\n"
        #expect(throws: ListProblem.unusable("no object has the member \"url\"")) { try items(lacking, .jsonl) }
        #expect(throws: ListProblem.self) { try items(lacking, .jsonl) { $0.urlColumn = .name("b[].url") } }
        #expect(try items(lacking + "{\"url\":\"http://h/a\"}\n", .jsonl).count == 3)
    }

    @Test("A plain line is one URL, even with commas and quotes")
    func lines() throws {
        let found = try items("# c\n\n  \nhttp://h/a,b.png\nhttp://h/\"c\n", .lines)
        #expect(try found.map(url) == ["http://h/a,b.png", "http://h/\"c"])
        #expect(found.map(\.line) == [4, 5])
    }

    @Test("A control character refuses its line only", arguments: ["\u{0}", "\r", "\t", "\u{7f}"])
    func controls(character: String) throws {
        let found = try items("http://h/a\nhttp://h/\(character)b\nhttp://h/c\n", .lines)
        #expect(found.map(\.line) == [1, 2, 3])
        #expect(throws: KingfisherError.self) { try found[1].source.get() }
        #expect(found[1].record.elementsEqual("http://h/\(character)b\n".utf8))
    }

    /// Every column that a list may have, under its usual name.
    private func naming(_ options: inout ListOptions) {
        options.keyColumn = .name("key")
        options.nameColumn = .name("name")
        options.headersColumn = .name("headers")
        options.processColumn = .name("processor")
    }

    @Test("The columns of a csv are found by name")
    func csv() throws {
        let text =
            "Name,processor,URL,headers,KEY\r\ncat,resize:10x10,http://h/a,\"A: b\nC:d \",k\r\n,,\"http://h/b,c\",,\r\n"
        let found = try items(text, .csv, naming)
        #expect(try found.map(url) == ["http://h/a", "http://h/b,c"])
        #expect(found[0].name == "cat" && found[1].name == nil)
        #expect(found[0].headers.map { "\($0.name)=\($0.value)" } == ["A=b", "C=d"])
        #expect(try found[0].source.get().cacheKey == "k")
        #expect(try found[1].source.get().cacheKey == "http://h/b,c")
        #expect(found[0].processor?.identifier == (try ProcessorParser.parse("resize:10x10").identifier))
        #expect(found[1].line == 4)
        #expect(String(decoding: found[1].header, as: UTF8.self) == "Name,processor,URL,headers,KEY\r\n")
    }

    @Test("The URL column is a name or a number")
    func urlColumn() throws {
        #expect(try items("id,Img\n1,http://h/a\n", .csv) { $0.urlColumn = .name("img") }.map(url) == ["http://h/a"])
        #expect(try items("1\thttp://h/a\n2\thttp://h/b\n", .tsv) { $0.urlColumn = .number(2) }.count == 2)
        let named = try items("id,picture,key\n1,http://h/a,k\n", .csv) {
            $0.urlColumn = .number(2)
            $0.keyColumn = .name("key")
        }
        #expect(try named.map { try $0.source.get().cacheKey } == ["k"])
        let numbered = try items("1,http://h/a,k\n", .csv) {
            $0.urlColumn = .number(2)
            $0.keyColumn = .number(3)
        }
        #expect(try numbered.map { try $0.source.get().cacheKey } == ["k"])
        #expect(throws: ListProblem.self) { try items("url,id\nhttp://h/a,1\n", .csv) { $0.keyColumn = .name("key") } }
        #expect(
            try items("{\"picture\":\"http://h/a\"}\n", .jsonl) { $0.urlColumn = .name("picture") }.map(url) == [
                "http://h/a"
            ])
        #expect(throws: ListProblem.self) {
            try items("{\"url\":\"http://h/a\"}\n", .jsonl) { $0.keyColumn = .number(1) }
        }
        #expect(try items("http://h/a\nhttp://h/b\n", .csv).count == 2)
        #expect(try items("picture\nhttp://h/b\n", .csv).count == 1)
        #expect(throws: ListProblem.self) { try items("id,picture\n1,http://h/a\n", .csv) }
        #expect(throws: ListProblem.self) { try items("id,a\n1,http://h/a\n", .csv) { $0.urlColumn = .name("b") } }
    }

    @Test("Bad records are refused one by one")
    func badRecords() throws {
        let csv = try items("url,processor\nhttp://h/a,nonsense:1\n\"http://h/b\"x,\n,\nhttp://h/c,\n", .csv) {
            $0.processColumn = .name("processor")
        }
        #expect(csv.map { (try? $0.source.get()) != nil } == [false, false, false, true])
        #expect(csv[0].text == "http://h/a")
        let jsonl = try items(
            """
            {"url":"http://h/a"}
            {"url":"http://h/a"
            {"url":7}
            {"key":"k"}
            {"url":"http://h/a","headers":["x"]}
            {"url":"http://h/a","key":"a\\u0000b"}
            "http://h/a"
            # a comment

            {"url":"http://h/b","key":null,"extra":[{}],"headers":{"A":"b"},"name":"n","processor":"blur:3"}
            """, .jsonl, naming)
        #expect(jsonl.map { (try? $0.source.get()) != nil } == [true, false, false, false, false, false, false, true])
        #expect(jsonl.map(\.line) == [1, 2, 3, 4, 5, 6, 7, 10])
        #expect(jsonl.last?.headers.first?.value == "b")
        #expect(jsonl.last?.processor?.identifier == (try ProcessorParser.parse("blur:3").identifier))
    }

    @Test(
        "A list's columns count only when an option names them",
        arguments: [
            (ListFormat.csv, "url,key,name,headers,processor\nhttp://h/a,http://bank/logo.png,n,A: b,resize:1x1\n"),
            (.tsv, "url\tkey\tname\theaders\tprocessor\nhttp://h/a\thttp://bank/logo.png\tn\tA: b\tresize:1x1\n"),
            (
                .jsonl,
                #"{"url":"http://h/a","key":"http://bank/logo.png","name":"n","headers":{"A":"b"},"processor":"resize:1x1"}"#
            ),
        ])
    func unnamed(format: KFLists.ListFormat, text: String) throws {
        let found = try #require(try items(text, format).first)
        #expect(try found.source.get().cacheKey == "http://h/a")
        #expect(found.name == nil && found.headers.isEmpty && found.processor == nil)
    }

    @Test(
        "A list's key never equals that of a URL or file",
        arguments: ["http://bank/logo.png", "HTTPS://bank/", "file:///etc/x?size=1", "sha256:00", "data:,x", "key:a"])
    func givenKeys(key: String) throws {
        let text = "{\"url\":\"http://evil/x\",\"key\":\"\(key)\"}\n"
        let found = try #require(try items(text, .jsonl) { $0.keyColumn = .name("key") }.first)
        #expect(try found.source.get().cacheKey == "key:\(key)")
        #expect(GivenKey.cacheKey("shoes") == "shoes" && GivenKey.cacheKey("team/logo") == "team/logo")
        // No two keys become one.
        let keys = ["a", "key:a", "key:key:a", "http://a", "key:http://a", "sha256:a", "key:sha256:a"]
        #expect(Set(keys.map(GivenKey.cacheKey)).count == keys.count)
    }

    @Test(
        "A header that could change the request is refused",
        arguments: [
            ("X", "a\\r\\nHost: bank"), ("X", "a\\nB: c"), ("X", "a\\u0000"), ("X\\r\\nY", "a"), ("X Y", "a"),
            ("", "a"),
            ("Host", "bank"), ("HOST", "bank"), ("Content-Length", "7"), ("transfer-encoding", "chunked"),
            ("Connection", "close"), ("Range", "bytes=0-1"), ("If-None-Match", "*"), ("Proxy-Authorization", "x"),
        ])
    func badHeaders(name: String, value: String) throws {
        let text = "{\"url\":\"http://h/a\",\"headers\":{\"\(name)\":\"\(value)\"}}\n"
        let found = try #require(try items(text, .jsonl) { $0.headersColumn = .name("headers") }.first)
        #expect(throws: KingfisherError.self) { try found.source.get() }
        #expect(found.headers.isEmpty)
    }

    @Test("A URL or a key of more than 64 KiB is refused")
    func longNames() throws {
        let long = String(repeating: "x", count: 70_000)
        let url = try items("http://h/\(long)\n", .lines)
        #expect(throws: KingfisherError.self) { try url[0].source.get() }
        let key = try items("url,key\nhttp://h/a,\(long)\n", .csv) { $0.keyColumn = .name("key") }
        #expect(throws: KingfisherError.self) { try key[0].source.get() }
    }

    @Test("The shards of a list are disjoint and complete")
    func shards() throws {
        let text = (0..<300).map { "http://h/\($0)\n" }.joined() + "bad line\nhttp://h/0\n"
        let parts = try (0..<4).map { index in
            try items(text, .lines) { $0.shard = ListShard(index: index, count: 4) }.filter { !$0.isElsewhere }
        }
        #expect(parts.map(\.count).reduce(0, +) == 302)
        #expect(Set(parts.flatMap { $0.map(\.line) }).count == 302)
        #expect(parts.allSatisfy { $0.count > 40 })
        // The same key is the same machine's, wherever it stands.
        #expect(parts.contains { part in Set([1, 302]).isSubset(of: part.map(\.line)) })
        // As `printf %s http://h/0 | sha256sum` begins.
        let prefix: UInt64 = 0x648b_4ca3_949f_6d7b
        for index in 0..<7 {
            #expect(ListShard(index: index, count: 7)?.contains(key: "http://h/0") == (Int(prefix % 7) == index))
        }
        #expect(ListShard(index: 4, count: 4) == nil && ListShard(index: -1, count: 4) == nil)
        #expect(ListShard(index: 0, count: 0) == nil)
    }

    @Test(
        "Shards by host keep each host in one shard",
        arguments: ListShard.Criterion.allCases, [1, 2, 3, 7])
    func shardsByHost(_ criterion: ListShard.Criterion, count: Int) throws {
        let hosts = (0..<40).flatMap { number in
            let host = "h\(number).example"
            return [
                host, host.uppercased(), "\(host).", "\(host):80", "\(host):8080", "user:word@\(host)",
                "\(host.uppercased()).:8443",
            ]
        }
        let addresses = ["127.0.0.1", "127.0.0.1:81", "[::1]", "[::1]:81"]
        let lines =
            (hosts + addresses).flatMap { ["http://\($0)/a.png", "https://\($0)/b.png?c"] }
            + ["/etc/hostname", "file:///etc/passwd", "not a URL", "http://", "ftp://h/a", "http://h\u{1}/"]
        let text = lines.map { $0 + "\n" }.joined()
        let parts = try (0..<count).map { index in
            try items(text, .lines) {
                $0.shard = ListShard(index: index, count: count, by: criterion)
                $0.allowsLocal = true
            }.filter { !$0.isElsewhere }
        }
        #expect(parts.flatMap { $0.map(\.line) }.sorted() == Array(1...lines.count))
        guard criterion == .host, count > 1 else { return }
        #expect(parts.allSatisfy { !$0.isEmpty })
        func part(_ host: String) -> [Int] {
            parts.indices.filter { parts[$0].contains { $0.text.lowercased().contains(host) } }
        }
        for number in 0..<40 { #expect(part("h\(number).example").count == 1) }
        #expect(part("//127.0.0.1").count == 1 && part("//[::1]").count == 1)
        // As `printf %s h7.example | sha256sum` begins.
        let prefix: UInt64 = 0x2bec_25a4_3d22_4af5
        #expect(part("h7.example") == [Int(prefix % UInt64(count))])
    }

    @Test("Local files need permission")
    func local() throws {
        #expect(throws: KingfisherError.self) { try items("/etc/hostname\n", .lines)[0].source.get() }
        let found = try items("/\nhttp://h/a\nfile:///etc/passwd\n/etc/passwd\n", .lines) { $0.allowsLocal = true }
        #expect(found.map { (try? $0.source.get()) != nil } == [false, true, true, true])
        #expect(try found[2].source.get().cacheKey == found[3].source.get().cacheKey)
    }

    @Test("The file name decides the format of a list")
    func formats() {
        let names = ["a.csv", "a.CSV.GZ", "b.tsv", "dir.csv/list", "c.jsonl", "c.ndjson.gz", "-", "d.txt", "csv"]
        #expect(
            names.map { ListFormat(fileName: $0) } == [
                .csv, .csv, .tsv, .lines, .jsonl, .jsonl, .lines, .lines, .lines,
            ])
    }

    private func columns(_ item: PrefetchItem) -> String? { item.recordColumns.map { StrictJSON.object($0).json } }

    @Test("A record carries its columns without headers and user info")
    func columnsOfRecords() throws {
        let csv = try items(
            "id,url,auth,id,\n1,http://u:p@h/a?b,X: s,\"x \"\"y\"\", z\",w,more\n,\n2,http://h\n", .csv
        ) { $0.headersColumn = .name("auth") }
        #expect(
            csv.map(columns) == [
                #"{"id":"1","url":"http://h/a?b","id_2":"x \"y\", z","5":"w","6":"more"}"#, #"{"id":"","url":""}"#,
                #"{"id":"2","url":"http://h"}"#,
            ])
        #expect(csv.map(\.columnNames) == Array(repeating: ["id", "url", "id_2", "5"], count: 3))
        let numbered = try items("http://h/a\tx\n", .tsv)
        #expect(numbered.map(columns) == [#"{"1":"http://h/a","2":"x"}"#])
        let objects = try items(
            #"{"n":1.50,"i":[{"url":"http://u:p@h/a","h":{"X":"s"}},{"url":"http://h/b"}],"t":null}"#, .jsonl
        ) {
            $0.urlColumn = .name("i[].url")
            $0.headersColumn = .name("i[0].h")
        }
        let expected = #"{"n":1.50,"i":[{"url":"http://h/a"},{"url":"http://h/b"}],"t":null}"#
        #expect(objects.map(columns) == [expected, expected])
        #expect(objects[0].columnNames == nil && objects[0].hasColumns)
        let line = try items("http://h/a\n", .lines)
        #expect(line.map(columns) == [nil] && !line[0].hasColumns)
        #expect(
            try items("{\"url\":\"http://h/a\",\"n\":1}\nhttp://h/b\n", .lines).map(columns).map { $0 != nil } == [
                true, false,
            ])
    }

    @Test("Column names stay unique")
    func awkwardColumns() throws {
        let odd = try items("url,4,c\nhttp://h/a,x,y,z,w\n", .csv)
        #expect(odd.map(columns) == [#"{"url":"http://h/a","4":"x","c":"y","4_2":"z","5":"w"}"#])
        let names = ["url"] + (2...4000).map { "a_\($0)" } + Array(repeating: "a", count: 4000)
        let many = try items(names.joined(separator: ",") + "\nhttp://h/a\n", .csv)
        #expect(Set(many[0].columnNames ?? []).count == names.count)
        let texts = [
            " http://u:SECRET@h/i", "\thttps://u:SECRET@h", "s3://u:SECRET@b/k", "http is good: me@example.com // ok",
        ]
        let found = try items("url,a,b,c,d\nhttp://h/x,\(texts.joined(separator: ","))\n", .csv).first?.recordColumns
        #expect(found.map { StrictJSON.object($0).json.contains("SECRET") } == false)
        #expect(found?.last?.value == .string(texts[3]))
    }

    @Test(
        "A path of headers removes its member only",
        arguments: [
            ("h", #"{"a":{"h":1}}"#), ("a.h", #"{"h":{"x":1},"a":{}}"#), ("a", #"{"h":{"x":1}}"#),
            ("a.h.x", #"{"h":{"x":1},"a":{"h":1}}"#), ("nothing", #"{"h":{"x":1},"a":{"h":1}}"#),
        ])
    func removedPaths(_ path: String, _ rest: String) throws {
        guard case .object(let members) = try StrictJSON.parse(Array(#"{"h":{"x":1},"a":{"h":1}}"#.utf8)) else {
            return
        }
        #expect(StrictJSON.object(MemberPath(path).removed(from: members)).json == rest)
    }

    @Test("A csv whose header is broken is refused")
    func brokenHeader() throws {
        #expect(throws: ListProblem.self) { try items("\"id\"x,url\n1,http://h/a\n", .csv) }
    }
}
