import KFImaging
import KFStorage
import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

@Suite("Name templates for copies")
struct OutputTemplateTests {
    private var names: OutputTemplate.Names {
        var names = OutputTemplate.Names()
        names.name = "cat.jpeg"
        names.stem = "cat"
        names.host = "example.com:8080"
        names.folders = ["a", "b c"]
        names.number = 7
        names.variant = "small"
        names.columns = ["id": "12", "Shop name": "A/B"]
        return names
    }

    private let found: OutputTemplate.Findings = (
        facts: ImageFacts(format: .jpeg, PixelFacts(width: 20, height: 10, frames: 1), bytes: 5, digest: nil),
        sha256: String(repeating: "ab", count: 32), hash: String(repeating: "0123456789abcdef", count: 4)
    )

    @Test(
        "Every field is replaced by its value",
        arguments: [
            ("{stem}-{hash12}.{ext}", "cat-0123456789ab.jpg"), ("{host}/{index}.{format}", "example.com_8080/7.jpeg"),
            ("{width}x{height}-{variant}", "20x10-small"), ("a{hash1}", "a0"), ("{name}", "cat.jpeg"),
            ("{dir}/{stem}.{ext}", "a/b c/cat.jpg"), ("{path}", "a/b c/cat.jpeg"), ("{index:04}", "0007"),
            ("{id}-{column:Shop name}", "12-A_B"), ("{sha256}.x", String(repeating: "ab", count: 32) + ".x"),
        ])
    func fields(template: String, name: String) throws {
        #expect(try OutputTemplate(template).name(names, found) == name)
    }

    @Test("The suffix of a taken name stands before the extension")
    func suffix() throws {
        for (template, name) in [
            ("{stem}.{ext}", "cat-x.jpg"), ("{stem}", "cat-x"), ("v1.2/{stem}", "v1.2/cat-x"), (".{stem}", ".cat-x"),
        ] {
            #expect(try OutputTemplate(template).name(names, found, suffix: "-x") == name)
        }
    }

    @Test("An image without a folder has no folder in its name")
    func top() throws {
        var names = names
        names.folders = []
        #expect(try OutputTemplate("{dir}/{stem}.{ext}").name(names, found) == "cat.jpg")
        #expect(try OutputTemplate("{host}/{dir}/{stem}").name(names, found) == "example.com_8080/cat")
        #expect(try OutputTemplate("{path}").name(names, found) == "cat.jpeg")
    }

    @Test("A template's extension decides the format")
    func format() throws {
        #expect(
            try OutputTemplate("{stem}.webp").format == .webp && OutputTemplate("{stem}-{index}.JPG").format == .jpeg)
        #expect(try OutputTemplate("{stem}.{ext}").format == nil && OutputTemplate("{stem}.txt").format == nil)
    }

    @Test(
        "A template that could leave the directory is refused",
        arguments: [
            "", "x", "{", "}", "{stem", "stem}", "{nope}", "{hash0}", "{hash65}", "/{stem}", "../{stem}", "a/../{stem}",
            "{stem}/", "a//{stem}", "./{stem}", "{stem}\n", "{column:}", "{index:}", "{index:0}", "{index:99}",
        ])
    func refused(template: String) {
        #expect(throws: OutputTemplate.Problem.self) { try OutputTemplate(template) }
    }

    @Test(
        "A hostile source name stays in the directory",
        arguments: [
            "..", ".", "", "../../etc/passwd", "/etc/passwd", "a/b", "\u{0}", "..\\x", "-rf", "..jpg", "a..", "..",
        ])
    func hostile(text: String) throws {
        var names = names
        names.name = text
        names.stem = text
        names.host = text
        names.variant = text
        names.columns = ["id": text]
        names.folders = [text]
        let templates = [
            "{stem}", "{stem}.{ext}", "{host}/{stem}", "{variant}{stem}", ".{stem}", "{stem}.", "{name}",
            "{dir}/{name}",
            "{id}/{stem}", "{path}",
        ]
        for template in templates {
            guard let name = try OutputTemplate(template).name(names, found) else { continue }
            let parts = name.split(separator: "/", omittingEmptySubsequences: false)
            #expect(parts.count == (template == "{path}" ? 2 : template.split(separator: "/").count), "\(name)")
            #expect(!parts.contains { $0 == "" || $0 == "." || $0 == ".." || $0.hasPrefix("-") }, "\(name)")
            #expect(!name.unicodeScalars.contains { $0.value < 0x20 })
        }
    }

    @Test("A template with an index needs no memory of names")
    func distinct() throws {
        #expect(!OutputTemplate.standard.isDistinct && !OutputTemplate.standardOfVariants.isDistinct)
        #expect(try OutputTemplate("{index}").isDistinct && !OutputTemplate("{stem}-{hash8}").isDistinct)
        #expect(try OutputTemplate("{sha256}").isDistinct && OutputTemplate("{hash12}").isDistinct)
    }

    @Test("A stem loses only the extension of an image format")
    func stems() {
        #expect(
            ["cat.jpg", "cat.JPEG", "v1.2", ".png", "a"].map(OutputName.stem) == ["cat", "cat", "v1.2", ".png", "a"])
    }

    @Test(
        "Every usual ending of a name stands for its format",
        arguments: [
            ("apng", "png"), ("PNG", "png"), ("jpg", "jpeg"), ("jpeg", "jpeg"), ("jpe", "jpeg"), ("JFIF", "jpeg"),
            ("heic", "heic"), ("heif", "heic"), ("hif", "heic"), ("dib", "bmp"), ("tif", "tiff"), ("Tiff", "tiff"),
            ("txt", nil), ("jp", nil),
        ] as [(String, String?)])
    func endings(_ ending: String, _ format: String?) {
        #expect(OutputName.format(of: "a.b/photo.\(ending)")?.rawValue == format)
        #expect(OutputName.stem("photo.\(ending)") == (format == nil ? "photo.\(ending)" : "photo"))
    }

    @Test("A long name keeps its extension")
    func longName() {
        for isSafe in [true, false] {
            let name = OutputName.keptName(String(repeating: "x", count: 300) + ".jpeg", isSafe)
            #expect(name.utf8.count < 120 && name.hasSuffix(".jpeg"))
        }
    }

    @Test("A name keeps what everyone can see")
    func kept() {
        let name = "my cat's (1) 50% & more, ü.v2"
        #expect(OutputName.kept(name, false) == name)
        #expect(OutputName.kept(name, true) == "my_cat_s__1__50____more__ü.v2")
        #expect(OutputName.kept("../a/b\u{0}c\nd\u{202E}e\u{200B}f", false) == "_a_b_c_d_e_f")
    }
}
