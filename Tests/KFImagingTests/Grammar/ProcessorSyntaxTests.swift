import Testing

@testable import KFImaging

@Suite("The documented syntax of processors")
struct ProcessorSyntaxTests {
    @Test("Every example parses") func examples() throws {
        for row in ProcessorSyntax.all {
            let identifier = try ProcessorParser.parse(row.example).identifier
            #expect(identifier.hasPrefix(row.name), "\(row.example)")
        }
    }

    @Test("Required parameters are documented") func required() {
        for row in ProcessorSyntax.all {
            let parses = (try? ProcessorParser.parse(row.name)) != nil
            #expect(parses == row.parameters.allSatisfy(\.isOptional), "\(row.usage)")
        }
    }

    @Test("Documented defaults are those of the parser") func defaults() throws {
        for row in ProcessorSyntax.all {
            for parameter in row.parameters where parameter.form.contains("=") {
                let parts = parameter.form.split(separator: "=")
                #expect(parts[0] == parameter.name)
                guard Double(parts[1]) != nil else { continue }
                let short = row.parameters.allSatisfy(\.isOptional) ? row.name : "\(row.name):\(first(of: row))"
                let separator = short == row.name ? ":" : ","
                #expect(
                    try ProcessorParser.parse(short).identifier
                        == ProcessorParser.parse("\(short)\(separator)\(parameter.form)").identifier)
            }
        }
    }

    /// The first argument of the row's example.
    private func first(of row: ProcessorSyntax) -> Substring {
        row.example.dropFirst(row.name.count + 1).split(separator: ",")[0]
    }

    @Test("Short lists of choices are in the syntax line") func choices() {
        for row in ProcessorSyntax.all {
            for parameter in row.parameters where (1...4).contains(parameter.choices.count) {
                #expect(parameter.form == parameter.choices.joined(separator: "|"))
            }
        }
    }

    @Test("Every processor has a usage line") func usage() throws {
        let rows = Dictionary(uniqueKeysWithValues: ProcessorSyntax.all.map { ($0.name, $0) })
        #expect(rows["resize"]?.usage == "resize:WxH|P%[,none|fit|fill|cover][,shrink][,anchor=AXxAY]")
        #expect(rows["border"]?.usage == "border[:WIDTH][,COLOUR][,radius=R][,corners=tl+tr+bl+br]")
        #expect(rows["grayscale"]?.usage == "grayscale")
        let blend = try #require(rows["blend"]?.documentation)
        #expect(blend.hasPrefix("Blend the image onto a background colour; MODE is one of normal, multiply, screen, "))
        #expect(blend.hasSuffix("plus-darker, plus-lighter"))
        for row in ProcessorSyntax.all { #expect(!row.documentation.isEmpty && row.documentation.last != ".") }
    }
}
