import Foundation
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("JSON in lists")
struct StrictJSONTests {
    private func parse(_ text: String) throws -> StrictJSON { try StrictJSON.parse(Array(text.utf8)) }

    @Test("Values of every kind are read")
    func values() throws {
        #expect(
            try parse(#" {"a":"b","c":[1,-2.5e+3,true,false,null],"d":{}} "#)
                == .object([
                    .init(name: "a", value: .string("b")),
                    .init(
                        name: "c",
                        value: .array([.number("1"), .number("-2.5e+3"), .bool(true), .bool(false), .null])),
                    .init(name: "d", value: .object([])),
                ]))
        #expect(try parse(#""\"\\\/\b\f\n\r\t\u00e4\ud83d\ude00""#) == .string("\"\\/\u{8}\u{c}\n\r\tä😀"))
    }

    @Test(
        "Malformed JSON is refused",
        arguments: [
            "", " ", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[1,]", "[1 2]", "{a:1}", "{'a':1}", "01", "-",
            "1.",
            ".5", "1e", "+1", "tru", "nul", "truefalse", "{} {}", "\"", "\"\\", "\"\\x41\"", "\"\\u12\"", "\"\\ud800\"",
            "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\tb\"", "\"a\nb\"", "{\"a\":1,\"a\":2}", "\u{feff}{}", "NaN",
            "// x\n1", "\u{0}",
        ])
    func refused(text: String) {
        #expect(throws: StrictJSON.Problem.self) { try parse(text) }
    }

    @Test("The depth of nesting is bounded")
    func depth() throws {
        _ = try parse(String(repeating: "[", count: 16) + String(repeating: "]", count: 16))
        #expect(throws: StrictJSON.Problem.self) { try parse(String(repeating: "[", count: 100_000)) }
        #expect(throws: StrictJSON.Problem.self) {
            try parse(String(repeating: "{\"a\":", count: 18) + "1" + String(repeating: "}", count: 18))
        }
    }

    @Test("Every accepted text is JSON for Foundation too")
    func mutations() throws {
        let seed = Array(#"{"url":"http://h/a\u00e4.png","headers":{"A":"b\n"},"n":[-1.5e2,0,true,null]}"#.utf8)
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("{}[]\",:\\u0e-+.1ntf ".utf8)
        for _ in 0..<4000 {
            var text = seed
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let at = Int.random(in: 0..<text.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text.remove(at: at)
                case 1: text.insert(alphabet[Int.random(in: 0..<alphabet.count, using: &generator)], at: at)
                default: text[at] = alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
                }
            }
            guard (try? StrictJSON.parse(text)) != nil else { continue }
            // Numbers beyond a Double are JSON, and Foundation refuses them.
            if String(decoding: text, as: UTF8.self).contains(/[eE]\+?[0-9]{3}/) { continue }
            // What is taken here is JSON for everybody else.
            #expect(throws: Never.self, "\(String(decoding: text, as: UTF8.self))") {
                try JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)
            }
        }
    }
}
