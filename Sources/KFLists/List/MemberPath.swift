import KFSystem

/// The path of values in a JSON object, such as `url`, `image.url`, `images[].url`, `images[0]`, or `images[]`.
///
/// Text in another form is the name of a member, as is the whole text if the object has a member of that name.
struct MemberPath: Equatable, Sendable, CustomStringConvertible {
    private enum Step: Equatable, Sendable {
        case member(String)
        case element(Int)
        /// All elements of an array.
        case elements
    }

    let text: String
    private let steps: [Step]

    init(_ text: String) {
        self.text = text
        // As jq writes paths.
        let path = text.hasPrefix(".") ? text.dropFirst() : text[...]
        steps = Self.steps(path) ?? [.member(text)]
    }

    var description: String { text }

    /// The depth of nesting that a parser must keep.
    var depth: Int { steps.count - 1 }

    /// Returns the values in order, nil for elements that have none; nil if no value is there. An empty array has no
    /// values, and is there.
    func values(in members: [StrictJSON.Member]) -> [StrictJSON?]? {
        if let member = members.first(where: { $0.name == text }) { return [member.value] }
        var values: [StrictJSON?] = []
        return Self.collect(steps[...], .object(members), &values) ? values : nil
    }

    /// Returns the members without the values of this path.
    func removed(from members: [StrictJSON.Member]) -> [StrictJSON.Member] {
        if members.contains(where: { $0.name == text }) { return members.filter { $0.name != text } }
        guard case .object(let rest)? = Self.removed(steps[...], from: .object(members)) else { return members }
        return rest
    }

    private static func removed(_ steps: ArraySlice<Step>, from json: StrictJSON) -> StrictJSON? {
        guard let step = steps.first else { return nil }
        let rest = steps.dropFirst()
        switch (step, json) {
        case (.member(let name), .object(let members)):
            return .object(
                members.compactMap { member in
                    guard member.name == name else { return member }
                    return removed(rest, from: member.value).map { StrictJSON.Member(name: name, value: $0) }
                })
        case (.element, .array(let elements)), (.elements, .array(let elements)):
            // All elements alike: an index must not come to mean another element.
            return .array(elements.map { removed(rest, from: $0) ?? .null })
        default: return json
        }
    }

    private static func collect(_ steps: ArraySlice<Step>, _ json: StrictJSON, _ values: inout [StrictJSON?]) -> Bool {
        guard let step = steps.first else {
            values.append(json)
            return true
        }
        let rest = steps.dropFirst()
        switch (step, json) {
        case (.member(let name), .object(let members)):
            if let member = members.first(where: { $0.name == name }) { return collect(rest, member.value, &values) }
        case (.element(let index), .array(let elements)) where index < elements.count:
            return collect(rest, elements[index], &values)
        case (.elements, .array(let elements)):
            var isThere = elements.isEmpty
            for element in elements { isThere = collect(rest, element, &values) || isThere }
            return isThere
        default: break
        }
        values.append(nil)
        return false
    }

    private static func steps(_ path: Substring) -> [Step]? {
        var steps: [Step] = []
        for part in path.split(separator: ".", omittingEmptySubsequences: false) {
            let name = part.prefix { $0 != "[" }
            // The root may be an element only of a member.
            guard !name.isEmpty else { return nil }
            steps.append(.member(String(name)))
            for bracket in part.dropFirst(name.count).split(separator: "[", omittingEmptySubsequences: false)
                .dropFirst()
            {
                guard bracket.last == "]" else { return nil }
                let index = bracket.dropLast()
                if index.isEmpty {
                    steps.append(.elements)
                } else if let number = Int(index), number >= 0 {
                    steps.append(.element(number))
                } else {
                    return nil
                }
            }
        }
        return steps
    }
}
