import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite(
        "DuckDB",
        .enabled("no duckdb here; KF_PYTHON names a Python that has it") { await DataSet.hasPackage("duckdb") })
    final class DuckDBTests: ServedSuite {
        private func python(_ script: String) async throws -> String {
            let result = try await Tool.run(DataSet.python, "-c", script, in: kf.home.url)
            try #require(result.status == 0, "\(result)")
            return result.output
        }

        @Test("The lines of the article make a list of Parquet, and Parquet of results")
        func article() async throws {
            let article = PackageRoot.url.appending(path: "Sources/KFCore/KFCore.docc/Engines.md")
            let text = try String(contentsOf: article, encoding: .utf8)
            let statements = text.components(separatedBy: "```sql\n").dropFirst().map {
                $0.components(separatedBy: "```")[0]
            }
            let command = try #require(text.firstMatch(of: /kf (prefetch list\.csv .*data.*)/)?.output.1)
            let urls = ["png/grey.png", "png/missing.png", "jpeg/grey.jpg"].map(server.url)
            let rows = urls.enumerated().map { "('\($1)', \($0), 'caption \($0)')" }.joined(separator: ", ")
            _ = try await python(
                """
                import duckdb
                duckdb.sql("COPY (SELECT * FROM (VALUES \(rows)) t(url, id, caption)) TO 'products.parquet'")
                duckdb.sql(\"\"\"\(statements[0])\"\"\")
                """)
            #expect(try await kf.run(command.split(separator: " ").map(String.init)).status == 1)
            let found = try await python(
                """
                import duckdb
                duckdb.sql(\"\"\"\(statements[1])\"\"\")
                print(duckdb.sql("SELECT id, status, width, caption FROM 'results.parquet' ORDER BY id").fetchall())
                print(duckdb.sql("SELECT count(*), count(sample) FROM 'rows.parquet'").fetchall())
                """)
            let lines = found.split(separator: "\n")
            #expect(
                lines.first?.contains("200, 'caption 0'") == true && lines.first?.contains("'failed'") == true,
                "\(found)")
            #expect(lines.last?.hasPrefix("[(3, ") == true, "\(found)")
        }
    }
}
