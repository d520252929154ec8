import KFImaging
import Testing

@testable import KFCore

@Suite("Names for copies")
struct OutputTemplateTests {
    private var values: OutputTemplate.Values {
        var values = OutputTemplate.Values(
            facts: ImageFacts(format: .jpeg, width: 20, height: 10, frames: 1, bytes: 5, sha256: nil))
        values.stem = "cat"
        values.host = "example.com:8080"
        values.hash = String(repeating: "0123456789abcdef", count: 4)
        values.number = 7
        values.variant = "small"
        return values
    }

    @Test(
        "every field",
        arguments: [
            ("{stem}-{hash12}.{ext}", "cat-0123456789ab.jpg"), ("{host}/{index}.{format}", "example.com_8080/7.jpeg"),
            ("{width}x{height}-{variant}", "20x10-small"), ("a{hash1}", "a0"),
        ])
    func fields(template: String, name: String) throws {
        #expect(try OutputTemplate(template).name(values) == name)
    }

    @Test(
        "what cannot be a name in the directory is refused at once",
        arguments: [
            "", "x", "{", "}", "{stem", "stem}", "{nope}", "{hash0}", "{hash65}", "/{stem}", "../{stem}", "a/../{stem}",
            "{stem}/", "a//{stem}", "./{stem}", "{stem}\n",
        ])
    func refused(template: String) {
        #expect(throws: OutputTemplate.Problem.self) { try OutputTemplate(template) }
    }

    @Test(
        "whatever a source calls itself, the name stays in the directory",
        arguments: ["..", ".", "", "../../etc/passwd", "/etc/passwd", "a/b", "\u{0}", "..\\x", "-rf"])
    func hostile(stem: String) throws {
        var values = values
        values.stem = stem
        values.host = stem
        values.variant = stem
        for template in ["{stem}", "{stem}.{ext}", "{host}/{stem}", "{variant}{stem}", ".{stem}", "{stem}."] {
            guard let name = try OutputTemplate(template).name(values) else { continue }
            let parts = name.split(separator: "/", omittingEmptySubsequences: false)
            #expect(parts.count == template.split(separator: "/").count, "\(name)")
            #expect(!parts.contains { $0 == "" || $0 == "." || $0 == ".." }, "\(name)")
            #expect(!name.unicodeScalars.contains { $0.value < 0x20 })
        }
    }

    @Test("templates that tell every source apart need no memory")
    func distinct() throws {
        #expect(OutputTemplate.standard.isDistinct && OutputTemplate.standardOfVariants.isDistinct)
        #expect(try OutputTemplate("{index}").isDistinct && !OutputTemplate("{stem}-{hash8}").isDistinct)
    }

    @Test("a list's name loses the extension of a format and no other")
    func stems() {
        #expect(
            ["cat.jpg", "cat.JPEG", "v1.2", ".png", "a"].map(OutputName.stem) == ["cat", "cat", "v1.2", ".png", "a"])
    }
}
