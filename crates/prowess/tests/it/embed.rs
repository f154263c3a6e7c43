//! The example of a program that embeds Prowess.

#[path = "../../examples/embed.rs"]
mod example;

#[test]
fn a_program_installs_lists_loads_and_runs() {
    // GAIA-6.2-1
    example::main().expect("every step works, and the tool says what it was told");
}
