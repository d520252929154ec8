/// A binary heap: the element that comes before all others is first.
struct Heap<Element> {
    private var elements: [Element] = []
    private let precedes: (Element, Element) -> Bool

    init(_ precedes: @escaping (Element, Element) -> Bool) { self.precedes = precedes }

    var first: Element? { elements.first }
    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard precedes(elements[child], elements[parent]) else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    mutating func popFirst() -> Element? {
        guard let last = elements.popLast() else { return nil }
        guard let first = elements.first else { return last }
        elements[0] = last
        var parent = 0
        while true {
            var best = parent
            for child in (2 * parent + 1)...(2 * parent + 2)
            where child < elements.count && precedes(elements[child], elements[best]) {
                best = child
            }
            guard best != parent else { return first }
            elements.swapAt(best, parent)
            parent = best
        }
    }

    mutating func removeAll(where isGone: (Element) -> Bool) {
        let kept = elements.filter { !isGone($0) }
        guard kept.count != elements.count else { return }
        elements.removeAll(keepingCapacity: true)
        for element in kept { insert(element) }
    }
}
