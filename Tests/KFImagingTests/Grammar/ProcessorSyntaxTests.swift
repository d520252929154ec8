import Testing

@testable import KFImaging

@Suite("The table of processors documents what the parser takes")
struct ProcessorSyntaxTests {
    @Test func everyExampleParses() throws {
        for row in ProcessorSyntax.all {
            let identifier = try ProcessorParser.parse(row.example).identifier
            #expect(identifier.hasPrefix(row.name), "\(row.example)")
        }
    }

    @Test("A processor without arguments parses exactly when no parameter is required")
    func requiredParametersAreStated() {
        for row in ProcessorSyntax.all {
            let parses = (try? ProcessorParser.parse(row.name)) != nil
            #expect(parses == row.parameters.allSatisfy(\.isOptional), "\(row.usage)")
        }
    }

    @Test("The default in the syntax line, as in fraction=0.5, is the one that the parser takes")
    func defaultsAreStated() throws {
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

    @Test func shortListsOfChoicesStandInTheSyntaxLine() {
        for row in ProcessorSyntax.all {
            for parameter in row.parameters where (1...4).contains(parameter.choices.count) {
                #expect(parameter.form == parameter.choices.joined(separator: "|"))
            }
        }
    }

    @Test func usageAndDocumentation() throws {
        let rows = Dictionary(uniqueKeysWithValues: ProcessorSyntax.all.map { ($0.name, $0) })
        #expect(rows["resize"]?.usage == "resize:WxH[,none|fit|fill]")
        #expect(rows["border"]?.usage == "border[:WIDTH][,COLOUR][,radius=R][,corners=tl+tr+bl+br]")
        #expect(rows["grayscale"]?.usage == "grayscale")
        let blend = try #require(rows["blend"]?.documentation)
        #expect(blend.hasPrefix("Blend the image onto a background colour; MODE is one of normal, multiply, screen, "))
        #expect(blend.hasSuffix("plus-darker, plus-lighter"))
        for row in ProcessorSyntax.all { #expect(!row.documentation.isEmpty && row.documentation.last != ".") }
    }
}
